//! Reading and writing.

use super::below_root;
use crate::path::bytes;
use futago_node::blocking::OpenOptions;
use futago_posix::{
    outcome::{self, error},
    process,
};
use std::{
    ffi::{c_char, c_int, c_void},
    io::{self, SeekFrom},
    slice,
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
    offset: libc::off_t,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let into = unsafe { writable(buf, size) }?;
        let read = process::file(fd)?.read_at(into, position(offset)?)?;
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
        Ok(process::file(fd)?.read(into)? as libc::ssize_t)
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
    offset: libc::off_t,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let from = unsafe { readable(buf, size) }?;
        process::file(fd)?.write_at(from, position(offset)?)?;
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
        Ok(process::file(fd)?.write(from)? as libc::ssize_t)
    })
}

/// Moves the position.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_seek(fd: c_int, off: libc::off_t, whence: c_int) -> libc::off_t {
    outcome::of(|| {
        let to = match whence {
            libc::SEEK_SET => SeekFrom::Start(position(off)?),
            libc::SEEK_CUR => SeekFrom::Current(off),
            libc::SEEK_END => SeekFrom::End(off),
            _ => return Err(error(libc::EINVAL)),
        };
        Ok(process::file(fd)?.seek(to)? as libc::off_t)
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
        let size = position(len)?;
        // SAFETY: the caller promises it.
        let (files, path) = below_root(unsafe { bytes(path) }?)?;
        let file = files.open(path.bytes(), OpenOptions::default())?;
        file.set_size(size)?;
        file.close()?;
        Ok(0)
    })
}

fn position(offset: libc::off_t) -> io::Result<u64> {
    u64::try_from(offset).map_err(|_| error(libc::EINVAL))
}

/// The memory that a call fills.
///
/// # Safety
/// As [`chfs_pread`].
unsafe fn writable<'a>(buf: *mut c_void, size: usize) -> io::Result<&'a mut [u8]> {
    check(buf, size)?;
    match size {
        0 => Ok(&mut []),
        // SAFETY: it is not null and no longer than memory can be; the caller promises the rest.
        _ => Ok(unsafe { slice::from_raw_parts_mut(buf.cast(), size) }),
    }
}

/// The memory that a call takes bytes from.
///
/// # Safety
/// As [`chfs_pwrite`].
unsafe fn readable<'a>(buf: *const c_void, size: usize) -> io::Result<&'a [u8]> {
    check(buf, size)?;
    match size {
        0 => Ok(&[]),
        // SAFETY: it is not null and no longer than memory can be; the caller promises the rest.
        _ => Ok(unsafe { slice::from_raw_parts(buf.cast(), size) }),
    }
}

fn check(buf: *const c_void, size: usize) -> io::Result<()> {
    if buf.is_null() && size > 0 {
        return Err(error(libc::EFAULT));
    }
    isize::try_from(size).map_err(|_| error(libc::EINVAL))?;
    Ok(())
}
