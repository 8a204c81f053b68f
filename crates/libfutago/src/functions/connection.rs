//! The beginning and the end of the connection.

use crate::session;
use futago_posix::{
    memory::{bytes, permissions},
    outcome::{self, error},
    process,
};
use std::{
    env,
    ffi::{OsStr, c_char, c_int},
    io,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

/// Connects to the cluster of a cluster file; null stands for the one that `FUTAGO_CLUSTER` names.
///
/// # Safety
/// `cluster_file` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futago_connect(cluster_file: *const c_char) -> c_int {
    outcome::of(|| {
        let file = match cluster_file.is_null() {
            true => of_environment()?,
            // SAFETY: the caller promises it.
            false => OsStr::from_bytes(unsafe { bytes(cluster_file) }?).into(),
        };
        session::begin(&file)
            .inspect_err(|failed| tracing::error!("futago_connect: {failed}"))
            .map(|()| 0)
    })
}

fn of_environment() -> io::Result<PathBuf> {
    let named = env::var_os("FUTAGO_CLUSTER").filter(|file| !file.is_empty());
    named.map(PathBuf::from).ok_or_else(|| {
        tracing::error!("futago_connect: FUTAGO_CLUSTER names no cluster file");
        error(libc::EINVAL)
    })
}

/// Closes all files and ends the session.
#[unsafe(no_mangle)]
pub extern "C" fn futago_disconnect() -> c_int {
    outcome::of(|| process::disconnect().map(|()| 0))
}

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn futago_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Sets the file mode creation mask and returns the one before it.
#[unsafe(no_mangle)]
pub extern "C" fn futago_umask(mask: libc::mode_t) -> libc::mode_t {
    outcome::of_call(|| session::set_umask(permissions(mask)).into())
}
