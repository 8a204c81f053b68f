//! Names: directories made and removed, files removed, renamed and linked.

use crate::session;
use futago_posix::{
    memory::{bytes, permissions, writable},
    outcome,
};
use std::ffi::{c_char, c_int};

/// Renames.
///
/// # Safety
/// As [`futago_mkdir`], for both strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_rename(path: *const c_char, new_path: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (path, new) = unsafe { (bytes(path)?, bytes(new_path)?) };
        session::files()?.rename(path, new).map(|()| 0)
    })
}

/// Gives a file another name.
///
/// # Safety
/// As [`futago_mkdir`], for both strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_link(path: *const c_char, new_path: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (path, new) = unsafe { (bytes(path)?, bytes(new_path)?) };
        session::files()?.link(path, new).map(|()| 0)
    })
}

/// Creates a symbolic link.
///
/// # Safety
/// As [`futago_mkdir`], for both strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_symlink(target: *const c_char, path: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (target, path) = unsafe { (bytes(target)?, bytes(path)?) };
        session::files()?.symlink(target, path).map(|()| 0)
    })
}

/// The target of a symbolic link, without a zero byte at its end, and cut off if it is longer than
/// `size`.
///
/// # Safety
/// As [`futago_mkdir`]; `buf` is null or the address of `size` bytes that nobody else uses
/// meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_readlink(
    path: *const c_char,
    buf: *mut c_char,
    size: usize,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let target = session::files()?.read_link(unsafe { bytes(path) }?)?;
        let length = target.len().min(size);
        // SAFETY: the caller promises it.
        unsafe { writable(buf.cast(), length) }?.copy_from_slice(&target[..length]);
        Ok(length as libc::ssize_t)
    })
}

/// Removes a name that is not a directory's.
///
/// # Safety
/// As [`futago_mkdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_unlink(path: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let path = unsafe { bytes(path) }?;
        session::files()?.remove_file(path).map(|()| 0)
    })
}

/// Creates a directory.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_mkdir(path: *const c_char, mode: libc::mode_t) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let path = unsafe { bytes(path) }?;
        let files = session::files()?;
        files.create_directory(path, permissions(mode)).map(|()| 0)
    })
}

/// Removes an empty directory.
///
/// # Safety
/// As [`futago_mkdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_rmdir(path: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let path = unsafe { bytes(path) }?;
        session::files()?.remove_directory(path).map(|()| 0)
    })
}
