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
use std::{ffi::c_char, io};

/// The client of the process, and the path of a function's argument.
///
/// # Safety
/// As [`ChfsPath::of`].
unsafe fn at(path: *const c_char) -> io::Result<(FileSystem, ChfsPath)> {
    let files = process::files()?;
    // SAFETY: the caller promises it.
    let path = unsafe { ChfsPath::of(path, &settings::current().root) }?;
    Ok((files, path))
}

/// As [`at`], for what the root cannot be.
///
/// # Safety
/// As [`ChfsPath::of`].
unsafe fn below_root(path: *const c_char) -> io::Result<(FileSystem, ChfsPath)> {
    // SAFETY: the caller promises it.
    let (files, path) = unsafe { at(path) }?;
    match path.is_root() {
        true => Err(error(libc::EINVAL)),
        false => Ok((files, path)),
    }
}
