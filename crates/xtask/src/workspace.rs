//! Where things are.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).unwrap_or(Path::new("."))
}

/// Where the programs that the suites run are installed.
pub fn tools() -> PathBuf {
    root().join("target/tools")
}

/// Where the steps leave their output.
pub fn logs() -> PathBuf {
    root().join("target/logs")
}

/// Whether the workspace has a crate in this folder of `crates/`.
pub fn has_crate(folder: &str) -> bool {
    root()
        .join("crates")
        .join(folder)
        .join("Cargo.toml")
        .is_file()
}
