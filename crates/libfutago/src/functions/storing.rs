//! Storing what was written.

use futago_posix::{outcome, process};
use std::ffi::c_int;

/// Has the servers hold all that was written to the file.
#[unsafe(no_mangle)]
pub extern "C" fn futago_fsync(fd: c_int) -> c_int {
    outcome::of(|| process::file(fd)?.synchronize().map(|()| 0))
}

/// As [`futago_fsync`]: the servers get the attributes with the data.
#[unsafe(no_mangle)]
pub extern "C" fn futago_fdatasync(fd: c_int) -> c_int {
    futago_fsync(fd)
}

/// Has the servers hold all that this process has written. Errors are reported by [`futago_fsync`]
/// and `futago_close` of the file.
#[unsafe(no_mangle)]
pub extern "C" fn futago_sync() {
    outcome::of_call(process::synchronize);
}
