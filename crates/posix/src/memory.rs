//! The memory and the numbers that C programs pass.

use crate::outcome::error;
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    io::{self, IoSlice, IoSliceMut},
    slice,
};

/// The most buffers of one call, as on Linux.
pub const PARTS_MAX: usize = 1024;

/// The bytes of a C string.
///
/// # Errors
/// `EFAULT` for a null pointer.
///
/// # Safety
/// `string` is null or the address of a string that ends with a zero byte and outlives the result.
pub unsafe fn bytes<'a>(string: *const c_char) -> io::Result<&'a [u8]> {
    if string.is_null() {
        return Err(error(libc::EFAULT));
    }
    // SAFETY: it is not null; the caller promises the rest.
    Ok(unsafe { CStr::from_ptr(string) }.to_bytes())
}

/// The memory that a call fills.
///
/// # Errors
/// `EFAULT` for a null pointer, `EINVAL` for a size that no memory has.
///
/// # Safety
/// `buf` is null or the address of `size` bytes of memory that nobody else uses meanwhile.
pub unsafe fn writable<'a>(buf: *mut c_void, size: usize) -> io::Result<&'a mut [u8]> {
    check(buf, size)?;
    match size {
        0 => Ok(&mut []),
        // SAFETY: it is not null and no longer than memory can be; the caller promises the rest.
        _ => Ok(unsafe { slice::from_raw_parts_mut(buf.cast(), size) }),
    }
}

/// The memory that a call takes bytes from.
///
/// # Errors
/// As [`writable`].
///
/// # Safety
/// `buf` is null or the address of `size` bytes of memory that nobody changes meanwhile.
pub unsafe fn readable<'a>(buf: *const c_void, size: usize) -> io::Result<&'a [u8]> {
    check(buf, size)?;
    match size {
        0 => Ok(&[]),
        // SAFETY: it is not null and no longer than memory can be; the caller promises the rest.
        _ => Ok(unsafe { slice::from_raw_parts(buf.cast(), size) }),
    }
}

/// The buffers that a call fills.
///
/// # Errors
/// As [`writable`]; `EINVAL` for a count below 0 or above [`PARTS_MAX`].
///
/// # Safety
/// `iov` is null or the address of `count` buffers, each as for [`writable`].
pub unsafe fn writable_parts<'a>(
    iov: *const libc::iovec,
    count: c_int,
) -> io::Result<Vec<IoSliceMut<'a>>> {
    // SAFETY: the caller promises it.
    let parts = unsafe { parts(iov, count) }?.iter();
    parts
        // SAFETY: the caller promises it.
        .map(|part| unsafe { writable(part.iov_base, part.iov_len) }.map(IoSliceMut::new))
        .collect()
}

/// The buffers that a call takes bytes from.
///
/// # Errors
/// As [`writable_parts`].
///
/// # Safety
/// `iov` is null or the address of `count` buffers, each as for [`readable`].
pub unsafe fn readable_parts<'a>(
    iov: *const libc::iovec,
    count: c_int,
) -> io::Result<Vec<IoSlice<'a>>> {
    // SAFETY: the caller promises it.
    let parts = unsafe { parts(iov, count) }?.iter();
    parts
        // SAFETY: the caller promises it.
        .map(|part| unsafe { readable(part.iov_base, part.iov_len) }.map(IoSlice::new))
        .collect()
}

/// # Safety
/// `iov` is null or the address of `count` buffers.
unsafe fn parts<'a>(iov: *const libc::iovec, count: c_int) -> io::Result<&'a [libc::iovec]> {
    let count = usize::try_from(count).map_err(|_| error(libc::EINVAL))?;
    match (count, iov.is_null()) {
        (0, _) => Ok(&[]),
        (1..=PARTS_MAX, true) => Err(error(libc::EFAULT)),
        // SAFETY: it is not null; the caller promises the rest.
        (1..=PARTS_MAX, false) => Ok(unsafe { slice::from_raw_parts(iov, count) }),
        _ => Err(error(libc::EINVAL)),
    }
}

fn check(buf: *const c_void, size: usize) -> io::Result<()> {
    if buf.is_null() && size > 0 {
        return Err(error(libc::EFAULT));
    }
    isize::try_from(size).map_err(|_| error(libc::EINVAL))?;
    Ok(())
}

/// Writes a result to the address that a caller has passed.
///
/// # Errors
/// `EFAULT` for a null pointer.
///
/// # Safety
/// `to` is null or the address of a `T`, which nobody else uses meanwhile.
pub unsafe fn put<T>(to: *mut T, value: T) -> io::Result<()> {
    if to.is_null() {
        return Err(error(libc::EFAULT));
    }
    // SAFETY: it is not null; the caller promises the rest.
    unsafe { to.write(value) };
    Ok(())
}

/// An offset in a file.
///
/// # Errors
/// `EINVAL` if it is negative.
pub fn offset(offset: libc::off_t) -> io::Result<u64> {
    u64::try_from(offset).map_err(|_| error(libc::EINVAL))
}

/// The permission bits of a mode.
pub const fn permissions(mode: libc::mode_t) -> u16 {
    (mode & 0o7777) as u16
}
