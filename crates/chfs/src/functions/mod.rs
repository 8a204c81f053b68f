//! The functions of `chfs.h`.

pub mod data;
pub mod directories;
pub mod lifecycle;
pub mod names;
pub mod opening;
pub mod parameters;
pub mod staging;

use crate::{path::ChfsPath, settings};
use futago_node::blocking::FileSystem;
use futago_posix::{outcome::error, process};
use std::io;

/// The client of the process, and the path of a function's argument.
fn at(path: &[u8]) -> io::Result<(FileSystem, ChfsPath)> {
    let files = process::files()?;
    let path = ChfsPath::new(path, &settings::current().root)?;
    Ok((files, path))
}

/// As [`at`], for what the root cannot be.
fn below_root(path: &[u8]) -> io::Result<(FileSystem, ChfsPath)> {
    let (files, path) = at(path)?;
    match path.is_root() {
        true => Err(error(libc::EINVAL)),
        false => Ok((files, path)),
    }
}
