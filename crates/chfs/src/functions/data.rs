//! Reading and writing.

use super::below_root;
use futago_posix::{
    memory::{bytes, offset, readable, writable},
    outcome::{self, error},
    process,
};
use futago_wire::AttributeChange;
use std::{
    ffi::{c_char, c_int, c_void},
    io::{Read, Seek, SeekFrom, Write},
};

/// Reads at an offset.
///
/// # Safety
/// `buf` is the address of `size` bytes of memory that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_pread(
    fd: c_int,
    buf: *mut c_void,
    size: usize,
    at: libc::off_t,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let into = unsafe { writable(buf, size) }?;
        let read = process::file(fd)?.read_into(into, offset(at)?)?;
        Ok(read as libc::ssize_t)
    })
}

/// Reads at the position and moves it.
///
/// # Safety
/// As [`chfs_pread`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_read(fd: c_int, buf: *mut c_void, size: usize) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let into = unsafe { writable(buf, size) }?;
        Ok((&*process::file(fd)?).read(into)? as libc::ssize_t)
    })
}

/// Writes at an offset.
///
/// # Safety
/// `buf` is the address of `size` bytes of memory that nobody changes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_pwrite(
    fd: c_int,
    buf: *const c_void,
    size: usize,
    at: libc::off_t,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let from = unsafe { readable(buf, size) }?;
        process::file(fd)?.write_from(from, offset(at)?)?;
        Ok(size as libc::ssize_t)
    })
}

/// Writes at the position and moves it.
///
/// # Safety
/// As [`chfs_pwrite`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_write(fd: c_int, buf: *const c_void, size: usize) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let from = unsafe { readable(buf, size) }?;
        Ok((&*process::file(fd)?).write(from)? as libc::ssize_t)
    })
}

/// Moves the position.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_seek(fd: c_int, off: libc::off_t, whence: c_int) -> libc::off_t {
    outcome::of(|| {
        let to = match whence {
            libc::SEEK_SET => SeekFrom::Start(offset(off)?),
            libc::SEEK_CUR => SeekFrom::Current(off),
            libc::SEEK_END => SeekFrom::End(off),
            _ => return Err(error(libc::EINVAL)),
        };
        Ok((&*process::file(fd)?).seek(to)? as libc::off_t)
    })
}

/// Has the servers hold all that was written to the file.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_fsync(fd: c_int) -> c_int {
    outcome::of(|| {
        process::file(fd)?.synchronize()?;
        Ok(0)
    })
}

/// Has the servers hold all that this process has written. Errors are reported by [`chfs_fsync`]
/// and `chfs_close` of the file.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_sync() {
    outcome::of_call(process::synchronize);
}

/// Sets the size of a file.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_truncate(path: *const c_char, len: libc::off_t) -> c_int {
    outcome::of(|| {
        let change = AttributeChange {
            size: Some(offset(len)?),
            ..AttributeChange::default()
        };
        // SAFETY: the caller promises it.
        let (files, path) = below_root(unsafe { bytes(path) }?)?;
        files.set_attributes(path.bytes(), true, change)?;
        Ok(0)
    })
}
