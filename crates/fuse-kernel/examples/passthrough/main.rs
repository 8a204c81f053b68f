//! Mirrors a directory through FUSE, without any caching in the kernel.
//!
//! `passthrough [--cached] SOURCE MOUNTPOINT`; runs until unmounted and prints the number of
//! requests for each operation.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's program may end with its reader"
)]

mod file_system;
mod inodes;
mod locks;

use file_system::Passthrough;
use futago_fuse_kernel::{Connection, MountFlags, MountOptions, OpenFlags, Wanted};
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<_> = std::env::args().skip(1).collect();
    let is_cached = arguments.first().is_some_and(|first| first == "--cached");
    arguments.drain(..usize::from(is_cached));
    let [source, mount_point] = &arguments[..] else {
        return Err("usage: passthrough [--cached] SOURCE MOUNTPOINT".into());
    };
    let open_flags = if is_cached {
        OpenFlags::empty()
    } else {
        file_system::UNCACHED
    };
    let file_system = Arc::new(Passthrough::new(source, open_flags)?);
    let options = MountOptions {
        source: source.clone(),
        flags: MountFlags::NO_DEV,
        ..MountOptions::default()
    };
    let connection = Connection::mount(&options, &Wanted::default(), mount_point)?;
    println!("mounted: {:?}", connection.granted());
    connection.serve(Arc::clone(&file_system), 2)?.join()?;
    println!("operations: {:#?}", file_system.counts());
    Ok(())
}
