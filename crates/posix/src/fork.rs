//! The client of a process that forks.
//!
//! The child of a process has one thread, and no locks that other threads held. So nobody else
//! holds the locks of this crate during a fork, and the child touches nothing of the client of its
//! parent: it closes the descriptors, and makes a client of its own later.

use crate::process::{self, Process};
use futago_transport::inheritance::Descriptors;
use std::{
    cell::RefCell,
    io,
    sync::{OnceLock, RwLockWriteGuard},
};

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// The locks that the forking thread holds.
struct Held {
    process: RwLockWriteGuard<'static, Process>,
    descriptors: Descriptors,
}

/// Has every later fork of this process call the functions below.
///
/// # Errors
/// `ENOMEM`.
pub fn prepare_for_children() -> io::Result<()> {
    static DONE: OnceLock<libc::c_int> = OnceLock::new();
    // SAFETY: the functions live as long as the process, because libraries with this crate are
    // linked so that they are never unloaded.
    let failed = *DONE.get_or_init(|| unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child))
    });
    match failed {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

extern "C" fn before() {
    let held = Held {
        process: process::write(),
        descriptors: Descriptors::hold(),
    };
    HELD.set(Some(held));
}

extern "C" fn in_parent() {
    HELD.take();
}

extern "C" fn in_child() {
    if let Some(mut held) = HELD.take() {
        held.process.inherit();
        // SAFETY: the process has just been forked, and what it inherits is only ever forgotten.
        unsafe { held.descriptors.close_in_child() };
    }
}
