//! Names the shared library as CHFS does, so that programs that were linked with CHFS find it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libchfs.so.0");
    // Forks of the program call functions of the library also after a `dlclose`.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
