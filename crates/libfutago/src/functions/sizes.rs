//! Sizes of files, and space for them.

use crate::session;
use futago_base::limits;
use futago_client::AllocateMode;
use futago_files::stat::Usage;
use futago_posix::{
    memory::{bytes, offset, put},
    outcome::{self, error},
    process,
};
use futago_wire::AttributeChange;
use std::{
    ffi::{c_char, c_int},
    io,
    mem::zeroed,
};

/// Sets the size of an open file.
#[unsafe(no_mangle)]
pub extern "C" fn futago_ftruncate(fd: c_int, size: libc::off_t) -> c_int {
    outcome::of(|| {
        process::file(fd)?.set_size(offset(size)?)?;
        Ok(0)
    })
}

/// Sets the size of a file.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_truncate(path: *const c_char, size: libc::off_t) -> c_int {
    outcome::of(|| {
        let change = AttributeChange {
            size: Some(offset(size)?),
            ..AttributeChange::default()
        };
        // SAFETY: the caller promises it.
        session::files()?.set_attributes(unsafe { bytes(path) }?, true, change)?;
        Ok(0)
    })
}

/// Allocates space, punches a hole or zeroes a range.
#[unsafe(no_mangle)]
pub extern "C" fn futago_fallocate(
    fd: c_int,
    mode: c_int,
    at: libc::off_t,
    size: libc::off_t,
) -> c_int {
    outcome::of(|| {
        let (begin, length) = (offset(at)?, offset(size)?);
        let end = begin
            .checked_add(length)
            .ok_or_else(|| error(libc::EFBIG))?;
        process::file(fd)?.allocate(allocate_mode(mode)?, begin..end)?;
        Ok(0)
    })
}

fn allocate_mode(mode: c_int) -> io::Result<AllocateMode> {
    futago_files::allocate_mode(mode.cast_unsigned()).ok_or_else(|| error(libc::EOPNOTSUPP))
}

/// The space of the cluster.
///
/// # Safety
/// As [`futago_truncate`]; `space` is null or the address of a `struct statvfs`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_statvfs(path: *const c_char, space: *mut libc::statvfs) -> c_int {
    outcome::of(|| {
        let files = session::files()?;
        // SAFETY: the caller promises it.
        files.metadata(unsafe { bytes(path) }?, true)?;
        let usage = Usage::of(&files.space()?);
        // SAFETY: the caller promises it.
        unsafe { put(space, statvfs(&usage)) }?;
        Ok(0)
    })
}

fn statvfs(usage: &Usage) -> libc::statvfs {
    // SAFETY: all fields are numbers, of which any value is valid.
    let mut space: libc::statvfs = unsafe { zeroed() };
    space.f_bsize = usage.block_bytes.into();
    space.f_frsize = usage.block_bytes.into();
    space.f_blocks = usage.blocks;
    space.f_bfree = usage.blocks_free;
    space.f_bavail = usage.blocks_free;
    space.f_files = usage.files;
    space.f_ffree = usage.files_free;
    space.f_favail = usage.files_free;
    space.f_namemax = limits::NAME_BYTES as libc::c_ulong;
    space
}
