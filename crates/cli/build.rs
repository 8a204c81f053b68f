//! Links the program for one place in memory.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Servers, mounts and clients of a host are processes of this program that share its cores.
    // Caches and branch predictors find code by its address: where each process has it at an
    // address of its own, each time slice begins with cold ones (docs/performance.md, "One address
    // for the program's code"). Stacks, heaps and libraries stay at random places.
    println!("cargo::rustc-link-arg-bins=-no-pie");
}
