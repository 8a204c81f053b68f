//! The end of a process that has not disconnected.

use crate::process;
use std::{io, sync::OnceLock, thread};

/// Has the end of `main` and `exit` send what is buffered, as data that a program has written with
/// `write` outlives it.
///
/// # Errors
/// `ENOMEM`.
pub fn prepare() -> io::Result<()> {
    static FAILED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the function lives as long as the process, because libraries with this crate are
    // linked so that they are never unloaded.
    match FAILED.get_or_init(|| unsafe { libc::atexit(at_exit) } != 0) {
        false => Ok(()),
        true => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
    }
}

extern "C" fn at_exit() {
    // The thread-local values of this thread are gone already. Nobody is left to hear of errors.
    let disconnecting = thread::Builder::new().spawn(process::disconnect);
    if let Ok(disconnecting) = disconnecting {
        let _ = disconnecting.join();
    }
}
