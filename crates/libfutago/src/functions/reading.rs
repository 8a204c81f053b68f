//! Reading, and the position.

use futago_posix::{
    memory::{offset, writable, writable_parts},
    outcome::{self, error},
    process,
};
use std::{
    ffi::{c_int, c_void},
    io::{Read, Seek, SeekFrom},
};

/// Reads at the position and moves it.
///
/// # Safety
/// As [`futago_pread`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_read(fd: c_int, buf: *mut c_void, size: usize) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let into = unsafe { writable(buf, size) }?;
        Ok((&*process::file(fd)?).read(into)? as libc::ssize_t)
    })
}

/// Reads at an offset.
///
/// # Safety
/// `buf` is the address of `size` bytes of memory that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_pread(
    fd: c_int,
    buf: *mut c_void,
    size: usize,
    at: libc::off_t,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let into = unsafe { writable(buf, size) }?;
        Ok(process::file(fd)?.read_into(into, offset(at)?)? as libc::ssize_t)
    })
}

/// Reads into several buffers at the position and moves it.
///
/// # Safety
/// As [`futago_preadv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_readv(
    fd: c_int,
    iov: *const libc::iovec,
    count: c_int,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let mut into = unsafe { writable_parts(iov, count) }?;
        Ok((&*process::file(fd)?).read_vectored(&mut into)? as libc::ssize_t)
    })
}

/// Reads into several buffers at an offset.
///
/// # Safety
/// `iov` is the address of `count` buffers, each as that of [`futago_pread`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_preadv(
    fd: c_int,
    iov: *const libc::iovec,
    count: c_int,
    at: libc::off_t,
) -> libc::ssize_t {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let mut into = unsafe { writable_parts(iov, count) }?;
        let file = process::file(fd)?;
        Ok(file.read_vectored_into(&mut into, offset(at)?)? as libc::ssize_t)
    })
}

/// Moves the position.
#[unsafe(no_mangle)]
pub extern "C" fn futago_lseek(fd: c_int, off: libc::off_t, whence: c_int) -> libc::off_t {
    outcome::of(|| {
        let file = process::file(fd)?;
        let to = match whence {
            libc::SEEK_SET => SeekFrom::Start(offset(off)?),
            libc::SEEK_CUR => SeekFrom::Current(off),
            libc::SEEK_END => SeekFrom::End(off),
            libc::SEEK_DATA => SeekFrom::Start(file.next_data(searched(off)?)?),
            libc::SEEK_HOLE => SeekFrom::Start(file.next_hole(searched(off)?)?),
            _ => return Err(error(libc::EINVAL)),
        };
        Ok((&*file).seek(to)? as libc::off_t)
    })
}

/// Where a search for data or a hole begins.
fn searched(off: libc::off_t) -> std::io::Result<u64> {
    offset(off).map_err(|_| error(libc::ENXIO))
}
