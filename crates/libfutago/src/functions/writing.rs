//! Writing.

use futago_posix::{
    memory::{offset, readable, readable_parts},
    outcome, process,
};
use std::{
    ffi::{c_int, c_void},
    io::Write,
};

/// Writes at the position and moves it.
///
/// # Safety
/// As [`futago_pwrite`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_write(fd: c_int, buf: *const c_void, size: usize) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let from = unsafe { readable(buf, size) }?;
        Ok((&*process::file(fd)?).write(from)? as libc::ssize_t)
    })
}

/// Writes at an offset; at the end of a file that was opened with `O_APPEND`, as Linux does.
///
/// # Safety
/// `buf` is the address of `size` bytes of memory that nobody changes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_pwrite(
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

/// Writes several buffers at the position and moves it.
///
/// # Safety
/// As [`futago_pwritev`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_writev(
    fd: c_int,
    iov: *const libc::iovec,
    count: c_int,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let from = unsafe { readable_parts(iov, count) }?;
        Ok((&*process::file(fd)?).write_vectored(&from)? as libc::ssize_t)
    })
}

/// Writes several buffers at an offset, as one write.
///
/// # Safety
/// `iov` is the address of `count` buffers, each as that of [`futago_pwrite`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_pwritev(
    fd: c_int,
    iov: *const libc::iovec,
    count: c_int,
    at: libc::off_t,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let from = unsafe { readable_parts(iov, count) }?;
        let written = process::file(fd)?.write_vectored_from(&from, offset(at)?)?;
        Ok((written.end - written.start) as libc::ssize_t)
    })
}
