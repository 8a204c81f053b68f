//! Opening and closing of files.
//!
//! Flags are ignored, as CHFS does: programs pass flags of their own. Every file is open for
//! reading and writing.

use super::{at, below_root};
use crate::{compatible, settings::Settings};
use futago_node::blocking::OpenOptions;
use futago_posix::{
    memory::{bytes, permissions},
    outcome::{self, error},
    process,
};
use std::{
    ffi::{c_char, c_int},
    io,
};

/// Creates a file with the chunk size that is set, or opens an existing one.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_create(
    path: *const c_char,
    _flags: i32,
    mode: libc::mode_t,
) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| unsafe { create(path, mode, crate::settings::current()) })
}

/// Creates a file with a chunk size in bytes, or opens an existing one.
///
/// # Safety
/// As [`chfs_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_create_chunk_size(
    path: *const c_char,
    _flags: i32,
    mode: libc::mode_t,
    chunk_size: c_int,
) -> c_int {
    outcome::of(|| {
        if chunk_size <= 0 {
            return Err(error(libc::EINVAL));
        }
        let mut settings = crate::settings::current();
        settings.set_chunk_bytes(chunk_size.into());
        // SAFETY: the caller promises it.
        unsafe { create(path, mode, settings) }
    })
}

/// Opens a file.
///
/// # Safety
/// As [`chfs_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_open(path: *const c_char, _flags: i32) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (files, path) = at(unsafe { bytes(path) }?)?;
        let file = files.open(path.bytes(), OpenOptions::default())?;
        process::add(file)
    })
}

/// Closes a file.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_close(fd: c_int) -> c_int {
    outcome::of(|| process::close(fd).map(|()| 0))
}

/// # Safety
/// As [`chfs_create`].
unsafe fn create(path: *const c_char, mode: libc::mode_t, settings: Settings) -> io::Result<c_int> {
    // SAFETY: the caller promises it.
    let (files, path) = below_root(unsafe { bytes(path) }?)?;
    let options = OpenOptions {
        create: true,
        truncate: compatible::truncates(),
        mode: permissions(mode),
        chunk_bytes: settings.chunk_bytes,
        ..OpenOptions::default()
    };
    let file = compatible::make(&files, &path, || files.open(path.bytes(), options))?;
    process::add(file)
}
