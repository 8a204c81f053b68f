//! Names: directories made and removed, links, attributes.

use super::{at, below_root};
use crate::compatible;
use futago_posix::{
    memory::{bytes, permissions, put, writable},
    outcome, status,
};
use std::{
    ffi::{c_char, c_int},
    io,
};

/// Creates a directory.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_mkdir(path: *const c_char, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| make_directory(unsafe { bytes(path) }?, mode).map(|()| 0))
}

/// Creates a directory.
///
/// # Errors
/// Those of `mkdir`.
pub fn make_directory(path: &[u8], mode: libc::mode_t) -> io::Result<()> {
    let (files, path) = below_root(path)?;
    let mode = permissions(mode);
    compatible::make(&files, &path, || files.create_directory(path.bytes(), mode))
}

/// Removes an empty directory.
///
/// # Safety
/// As [`chfs_mkdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_rmdir(path: *const c_char) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| remove_directory(unsafe { bytes(path) }?).map(|()| 0))
}

/// Removes an empty directory.
///
/// # Errors
/// Those of `rmdir`.
pub fn remove_directory(path: &[u8]) -> io::Result<()> {
    let (files, path) = below_root(path)?;
    compatible::removed(files.remove_directory(path.bytes()))
}

/// Removes a name that is not a directory's.
///
/// # Safety
/// As [`chfs_mkdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_unlink(path: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (files, path) = below_root(unsafe { bytes(path) }?)?;
        files.remove_file(path.bytes())?;
        Ok(0)
    })
}

/// The attributes of the path itself: a symbolic link at its end is not followed.
///
/// # Safety
/// As [`chfs_mkdir`]; `st` is null or the address of a `struct stat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_stat(path: *const c_char, st: *mut libc::stat) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (files, path) = at(unsafe { bytes(path) }?)?;
        let attributes = files.metadata(path.bytes(), false)?;
        // SAFETY: the caller promises it.
        unsafe { put(st, status::of(&attributes)) }?;
        Ok(0)
    })
}

/// Creates a symbolic link.
///
/// # Safety
/// As [`chfs_mkdir`], for both strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_symlink(target: *const c_char, path: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (target, path) = unsafe { (bytes(target)?, bytes(path)?) };
        let (files, path) = below_root(path)?;
        compatible::make(&files, &path, || files.symlink(target, path.bytes()))?;
        Ok(0)
    })
}

/// The target of a symbolic link, without a zero byte at its end, and cut off if it is longer than
/// `size`.
///
/// # Safety
/// As [`chfs_mkdir`]; `buf` is null or the address of `size` bytes that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_readlink(
    path: *const c_char,
    buf: *mut c_char,
    size: usize,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (files, path) = below_root(unsafe { bytes(path) }?)?;
        let target = files.read_link(path.bytes())?;
        let length = target.len().min(size);
        // SAFETY: the caller promises it.
        unsafe { writable(buf.cast(), length) }?.copy_from_slice(&target[..length]);
        Ok(length as c_int)
    })
}
