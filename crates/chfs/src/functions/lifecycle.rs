//! The beginning and the end of a session.

use crate::session;
use futago_posix::{memory::bytes, outcome, process};
use std::ffi::{c_char, c_int};

/// Connects to the cluster of a cluster file; null stands for the one that `CHFS_SERVER` names.
///
/// # Safety
/// `server` is null or the address of a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chfs_init(server: *const c_char) -> c_int {
    outcome::of(|| {
        let server = match server.is_null() {
            true => None,
            // SAFETY: the caller promises it.
            false => Some(unsafe { bytes(server) }?),
        };
        session::begin(server)
            .inspect_err(|failed| tracing::error!("chfs_init: {failed}"))
            .map(|()| 0)
    })
}

/// Whether the process is connected.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_initialized() -> c_int {
    outcome::of_call(process::is_connected).into()
}

/// Closes all files and ends the session.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_term() -> c_int {
    outcome::of(|| session::end().map(|()| 0))
}

/// As [`chfs_term`]: what a program has written is never thrown away.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_term_without_sync() -> c_int {
    chfs_term()
}

/// The number of servers.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_size() -> c_int {
    outcome::of_call(|| session::addresses().len() as c_int)
}

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn chfs_version() -> *const c_char {
    concat!("Futago ", env!("CARGO_PKG_VERSION"), "\0")
        .as_ptr()
        .cast()
}
