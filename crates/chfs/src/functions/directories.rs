//! Lists of directories.

use super::at;
use futago_base::Attributes;
use futago_node::blocking::FileSystem;
use futago_posix::{
    memory::bytes,
    outcome::{self, error},
    status,
};
use futago_wire::ListedEntry;
use std::{
    ffi::{CString, c_char, c_int, c_void},
    io, ptr,
};

/// Takes one entry. A value that is not 0 ends the list.
type Filler = unsafe extern "C" fn(
    buf: *mut c_void,
    name: *const c_char,
    status: *const libc::stat,
    offset: libc::off_t,
) -> c_int;

/// Hands over all entries of a directory, except `.` and `..`.
///
/// # Safety
/// `path` is null or the address of a string that ends with a zero byte; `filler` may be called
/// with `buf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_readdir(
    path: *const c_char,
    buf: *mut c_void,
    filler: Option<Filler>,
) -> c_int {
    // SAFETY: the caller promises it.
    outcome::of(|| unsafe { list(path, None, buf, filler) })
}

/// Hands over the entries of a directory that server `index` holds.
///
/// # Safety
/// As [`chfs_readdir`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_readdir_index(
    path: *const c_char,
    index: c_int,
    buf: *mut c_void,
    filler: Option<Filler>,
) -> c_int {
    outcome::of(|| {
        let server = u16::try_from(index).map_err(|_| error(libc::EINVAL))?;
        // SAFETY: the caller promises it.
        unsafe { list(path, Some(server), buf, filler) }
    })
}

/// # Safety
/// As [`chfs_readdir`].
unsafe fn list(
    path: *const c_char,
    server: Option<u16>,
    buf: *mut c_void,
    filler: Option<Filler>,
) -> io::Result<c_int> {
    // SAFETY: the caller promises it.
    let (files, path) = at(unsafe { bytes(path) }?)?;
    let filler = filler.ok_or_else(|| error(libc::EFAULT))?;
    let entries = match server {
        Some(server) => files.read_directory_of_server(path.bytes(), server)?,
        None => files.read_directory(path.bytes())?,
    };
    for entry in entries {
        let Some(attributes) = attributes(&files, path.bytes(), &entry)? else {
            continue;
        };
        let name = CString::new(entry.name.as_bytes())?;
        let status = status::of(&attributes);
        // SAFETY: the caller promises it; name and status outlive the call.
        if unsafe { filler(buf, name.as_ptr(), ptr::from_ref(&status), 0) } != 0 {
            break;
        }
    }
    Ok(0)
}

/// The attributes of an entry; `None` if it is gone meanwhile.
fn attributes(
    files: &FileSystem,
    directory: &[u8],
    entry: &ListedEntry,
) -> io::Result<Option<Attributes>> {
    if let Some(attributes) = &entry.attributes {
        return Ok(Some(*attributes));
    }
    let path = [directory, b"/", entry.name.as_bytes()].concat();
    match files.metadata(&path, false) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}
