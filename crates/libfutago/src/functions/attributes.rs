//! Attributes: `stat`, modes and owners.

use crate::session;
use futago_base::{Attributes, Kind};
use futago_posix::{
    memory::{bytes, permissions, put},
    outcome::{self, error},
    process, status,
};
use futago_wire::AttributeChange;
use std::{
    ffi::{c_char, c_int},
    io,
};

/// The attributes of a file; of a symbolic link those of its target.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte; `status` is null or the
/// address of a `struct stat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_stat(path: *const c_char, status: *mut libc::stat) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { stat(path, true, status) }
}

/// The attributes of a file; of a symbolic link its own.
///
/// # Safety
/// As [`futago_stat`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_lstat(path: *const c_char, status: *mut libc::stat) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { stat(path, false, status) }
}

/// # Safety
/// As [`futago_stat`].
unsafe fn stat(path: *const c_char, follow: bool, status: *mut libc::stat) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let found = session::files()?.metadata(unsafe { bytes(path) }?, follow)?;
        // SAFETY: the caller promises it.
        unsafe { put(status, status::of(&found)) }?;
        Ok(0)
    })
}

/// The attributes of an open file.
///
/// # Safety
/// As [`futago_stat`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_fstat(fd: c_int, status: *mut libc::stat) -> c_int {
    outcome::of(|| {
        let found = process::file(fd)?.metadata()?;
        // SAFETY: the caller promises it.
        unsafe { put(status, status::of(&found)) }?;
        Ok(0)
    })
}

/// Whether a file exists, and with `X_OK` whether anybody may execute it. Rights to read and write
/// are not checked by any function.
///
/// # Safety
/// As [`futago_stat`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_access(path: *const c_char, mode: c_int) -> c_int {
    outcome::of(|| {
        if mode & !(libc::R_OK | libc::W_OK | libc::X_OK) != 0 {
            return Err(error(libc::EINVAL));
        }
        // SAFETY: the caller promises it.
        let found = session::files()?.metadata(unsafe { bytes(path) }?, true)?;
        match mode & libc::X_OK != 0 && !is_executable(&found) {
            true => Err(error(libc::EACCES)),
            false => Ok(0),
        }
    })
}

const fn is_executable(file: &Attributes) -> bool {
    matches!(file.kind, Kind::Directory) || file.mode & 0o111 != 0
}

/// Sets the permission bits.
///
/// # Safety
/// As [`futago_stat`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_chmod(path: *const c_char, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| change(unsafe { bytes(path) }?, true, mode_change(mode)))
}

/// Sets the permission bits of an open file.
#[unsafe(no_mangle)]
pub extern "C" fn futago_fchmod(fd: c_int, mode: libc::mode_t) -> c_int {
    outcome::of(|| change_open(fd, mode_change(mode)))
}

/// Sets the owner and the group; -1 leaves one unchanged.
///
/// # Safety
/// As [`futago_stat`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_chown(
    path: *const c_char,
    owner: libc::uid_t,
    group: libc::gid_t,
) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| change(unsafe { bytes(path) }?, true, owner_change(owner, group)))
}

/// As [`futago_chown`]; a symbolic link's own ones.
///
/// # Safety
/// As [`futago_stat`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_lchown(
    path: *const c_char,
    owner: libc::uid_t,
    group: libc::gid_t,
) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| change(unsafe { bytes(path) }?, false, owner_change(owner, group)))
}

/// Sets the owner and the group of an open file.
#[unsafe(no_mangle)]
pub extern "C" fn futago_fchown(fd: c_int, owner: libc::uid_t, group: libc::gid_t) -> c_int {
    outcome::of(|| change_open(fd, owner_change(owner, group)))
}

fn mode_change(mode: libc::mode_t) -> AttributeChange {
    AttributeChange {
        mode: Some(permissions(mode)),
        ..AttributeChange::default()
    }
}

fn owner_change(owner: libc::uid_t, group: libc::gid_t) -> AttributeChange {
    AttributeChange {
        uid: (owner != libc::uid_t::MAX).then_some(owner),
        gid: (group != libc::gid_t::MAX).then_some(group),
        ..AttributeChange::default()
    }
}

/// Changes attributes of a file.
pub(super) fn change(path: &[u8], follow: bool, change: AttributeChange) -> io::Result<c_int> {
    session::files()?.set_attributes(path, follow, change)?;
    Ok(0)
}

/// Changes attributes of an open file.
pub(super) fn change_open(fd: c_int, change: AttributeChange) -> io::Result<c_int> {
    process::file(fd)?.set_attributes(change)?;
    Ok(0)
}
