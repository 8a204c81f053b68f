//! Extended attributes.

use crate::session;
use bytes::Bytes;
use futago_base::limits;
use futago_client::XattrMode;
use futago_files::xattrs;
use futago_posix::{
    memory::{bytes, readable, writable},
    outcome::{self, error},
    process,
};
use std::{
    ffi::{c_char, c_int, c_void},
    io,
};

/// The value of an extended attribute.
///
/// # Safety
/// `path` and `name` are null or addresses of strings that end with a zero byte; `value` is null or
/// the address of `size` bytes that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_getxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> libc::ssize_t {
    // SAFETY: the caller promises it.
    unsafe { get(path, true, name, value, size) }
}

/// As [`futago_getxattr`], of a symbolic link itself.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_lgetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> libc::ssize_t {
    // SAFETY: the caller promises it.
    unsafe { get(path, false, name, value, size) }
}

/// # Safety
/// As [`futago_getxattr`].
unsafe fn get(
    path: *const c_char,
    follow: bool,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (path, name) = unsafe { (bytes(path)?, bytes(name)?) };
        let found = session::files()?.xattr(path, follow, name)?;
        // SAFETY: the caller promises it.
        unsafe { hand_over(&found, value, size) }
    })
}

/// As [`futago_getxattr`], of an open file.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_fgetxattr(
    fd: c_int,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let found = process::file(fd)?.xattr(unsafe { bytes(name) }?)?;
        // SAFETY: the caller promises it.
        unsafe { hand_over(&found, value, size) }
    })
}

/// Copies a result and returns its length. A `size` of 0 only asks for the length.
///
/// # Safety
/// As [`futago_getxattr`].
unsafe fn hand_over(found: &[u8], value: *mut c_void, size: usize) -> io::Result<libc::ssize_t> {
    if size > 0 {
        if found.len() > size {
            return Err(error(libc::ERANGE));
        }
        // SAFETY: the caller promises it.
        unsafe { writable(value, found.len()) }?.copy_from_slice(found);
    }
    Ok(found.len() as libc::ssize_t)
}

/// Sets an extended attribute.
///
/// # Safety
/// As [`futago_getxattr`], but that nobody changes the bytes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_setxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (path, name, value) = unsafe { (bytes(path)?, bytes(name)?, copied(value, size)?) };
        let files = session::files()?;
        files.set_xattr(path, true, name, value, mode(flags)?)?;
        Ok(0)
    })
}

/// As [`futago_setxattr`], of a symbolic link itself.
///
/// # Safety
/// As [`futago_setxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_lsetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (path, name, value) = unsafe { (bytes(path)?, bytes(name)?, copied(value, size)?) };
        let files = session::files()?;
        files.set_xattr(path, false, name, value, mode(flags)?)?;
        Ok(0)
    })
}

/// As [`futago_setxattr`], of an open file.
///
/// # Safety
/// As [`futago_setxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_fsetxattr(
    fd: c_int,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (name, value) = unsafe { (bytes(name)?, copied(value, size)?) };
        process::file(fd)?.set_xattr(name, value, mode(flags)?)?;
        Ok(0)
    })
}

fn mode(flags: c_int) -> io::Result<XattrMode> {
    match flags {
        0 => Ok(XattrMode::Set),
        libc::XATTR_CREATE => Ok(XattrMode::Create),
        libc::XATTR_REPLACE => Ok(XattrMode::Replace),
        _ => Err(error(libc::EINVAL)),
    }
}

/// # Safety
/// As [`futago_setxattr`].
unsafe fn copied(value: *const c_void, size: usize) -> io::Result<Bytes> {
    if size > limits::XATTR_BYTES {
        return Err(error(libc::E2BIG));
    }
    // SAFETY: the caller promises it.
    Ok(Bytes::copy_from_slice(unsafe { readable(value, size) }?))
}

/// The names of the extended attributes, each with a zero byte behind it.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_listxattr(
    path: *const c_char,
    list: *mut c_char,
    size: usize,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let names = session::files()?.xattr_names(unsafe { bytes(path) }?, true)?;
        // SAFETY: the caller promises it.
        unsafe { hand_over(&xattrs::list(&names), list.cast(), size) }
    })
}

/// As [`futago_listxattr`], of a symbolic link itself.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_llistxattr(
    path: *const c_char,
    list: *mut c_char,
    size: usize,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let names = session::files()?.xattr_names(unsafe { bytes(path) }?, false)?;
        // SAFETY: the caller promises it.
        unsafe { hand_over(&xattrs::list(&names), list.cast(), size) }
    })
}

/// As [`futago_listxattr`], of an open file.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_flistxattr(
    fd: c_int,
    list: *mut c_char,
    size: usize,
) -> libc::ssize_t {
    outcome::of(|| {
        let names = process::file(fd)?.xattr_names()?;
        // SAFETY: the caller promises it.
        unsafe { hand_over(&xattrs::list(&names), list.cast(), size) }
    })
}

/// Removes an extended attribute.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_removexattr(path: *const c_char, name: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (path, name) = unsafe { (bytes(path)?, bytes(name)?) };
        session::files()?.remove_xattr(path, true, name).map(|()| 0)
    })
}

/// As [`futago_removexattr`], of a symbolic link itself.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_lremovexattr(path: *const c_char, name: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let (path, name) = unsafe { (bytes(path)?, bytes(name)?) };
        session::files()?
            .remove_xattr(path, false, name)
            .map(|()| 0)
    })
}

/// As [`futago_removexattr`], of an open file.
///
/// # Safety
/// As [`futago_getxattr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_fremovexattr(fd: c_int, name: *const c_char) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let name = unsafe { bytes(name) }?;
        process::file(fd)?.remove_xattr(name).map(|()| 0)
    })
}
