//! Directories, entry by entry. A child reads on with its own session where its parent was.

use crate::session;
use futago_files::{DirectoryEntry, DirectoryStream, stat};
use futago_posix::{
    memory::bytes,
    outcome::{self, error},
};
use std::{
    ffi::{c_char, c_int, c_long},
    io,
    mem::zeroed,
    ptr::null_mut,
};

/// An open directory, and the entry that was handed over last.
pub struct Directory {
    stream: DirectoryStream,
    entry: libc::dirent,
}

/// Opens a directory.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_opendir(path: *const c_char) -> *mut Directory {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let stream = session::files()?.directory_stream(unsafe { bytes(path) }?)?;
        // SAFETY: all fields are numbers, of which any value is valid.
        let entry = unsafe { zeroed() };
        Ok(Box::into_raw(Box::new(Directory { stream, entry })))
    })
}

/// The next entry, also `.` and `..`; null at the end, and with `errno` if it fails.
///
/// # Safety
/// `dir` is null or what [`futago_opendir`] has returned, not closed, and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_readdir(dir: *mut Directory) -> *mut libc::dirent {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        let directory = unsafe { open(dir) }?;
        match session::files()?.next_entry(&mut directory.stream)? {
            Some(entry) => {
                fill(&mut directory.entry, &entry);
                Ok(&raw mut directory.entry)
            }
            None => Ok(null_mut()),
        }
    })
}

/// The position, for [`futago_seekdir`].
///
/// # Safety
/// As [`futago_readdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_telldir(dir: *mut Directory) -> c_long {
    // SAFETY: the caller promises it.
    outcome::of(|| Ok(unsafe { open(dir) }?.stream.position() as c_long))
}

/// Continues at a position.
///
/// # Safety
/// As [`futago_readdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_seekdir(dir: *mut Directory, position: c_long) {
    // SAFETY: the caller promises it.
    if let Ok(directory) = unsafe { open(dir) } {
        directory.stream.seek(position.cast_unsigned());
    }
}

/// Continues at the first entry.
///
/// # Safety
/// As [`futago_readdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_rewinddir(dir: *mut Directory) {
    // SAFETY: the caller promises it.
    unsafe { futago_seekdir(dir, 0) };
}

/// Closes a directory.
///
/// # Safety
/// As [`futago_readdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_closedir(dir: *mut Directory) -> c_int {
    outcome::of(|| {
        // SAFETY: the caller promises it.
        unsafe { open(dir) }?;
        // SAFETY: it was made by `futago_opendir`, and nobody uses it any more.
        drop(unsafe { Box::from_raw(dir) });
        Ok(0)
    })
}

/// # Safety
/// As [`futago_readdir`].
unsafe fn open<'a>(dir: *mut Directory) -> io::Result<&'a mut Directory> {
    // SAFETY: the caller promises it.
    unsafe { dir.as_mut() }.ok_or_else(|| error(libc::EBADF))
}

fn fill(entry: &mut libc::dirent, from: &DirectoryEntry) {
    entry.d_ino = from.id.0;
    entry.d_off = from.next.cast_signed();
    entry.d_reclen = size_of::<libc::dirent>() as u16;
    // The types of a listing are those of a mode, moved.
    entry.d_type = (stat::type_bits(from.kind) >> 12) as u8;
    let ended = from.name.iter().chain([&0]);
    for (place, byte) in entry.d_name.iter_mut().zip(ended) {
        *place = byte.cast_signed();
    }
}
