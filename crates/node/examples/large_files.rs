//! Finds the large files below a directory. All servers search side by side.
//!
//!     cargo run --example large_files -- CLUSTER-FILE DIRECTORY

use futago_base::{Kind, search::Comparison};
use futago_node::{Cluster, Options, blocking::FileSystem, search::Find};
use std::{
    env,
    error::Error,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
};

const MEBIBYTE: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args_os().skip(1);
    let cluster = words.next().ok_or("name a cluster file")?;
    let directory = words.next().ok_or("name a directory")?;
    let cluster = Cluster::load(Path::new(&cluster))?;
    let files = FileSystem::connect(&cluster, Options::default())?;

    let mut output = io::stdout().lock();
    let large = Find::below(directory.as_bytes())
        .kinds([Kind::File])
        .size(MEBIBYTE, Comparison::More(16));
    for found in files.find(large) {
        output.write_all(&found?.path)?;
        output.write_all(b"\n")?;
    }
    Ok(())
}
