//! The parts of connections that a child of this process must not have.
//!
//! With a copy of a socket it would keep the connection after the end of its parent, and servers
//! would not hear of that end. Memory that is shared with servers is not mapped in children at all.

use rustix::io::close;
use std::{
    collections::BTreeSet,
    os::fd::{AsFd, AsRawFd, RawFd},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

static PRIVATE: Mutex<BTreeSet<RawFd>> = Mutex::new(BTreeSet::new());
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Marks a descriptor as one that children close. It is dropped before the descriptor is.
#[derive(Debug)]
pub(crate) struct Private(RawFd);

impl Private {
    pub fn new(descriptor: &impl AsFd) -> Self {
        let number = descriptor.as_fd().as_raw_fd();
        private().insert(number);
        Self(number)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        private().remove(&self.0);
    }
}

/// How many forks are between this process and the first one that used this library. State of a
/// thread that an earlier process made belongs to that process.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// The descriptors of this process, which stay as they are until this is dropped. Held while a
/// process forks.
#[derive(Debug)]
pub struct Descriptors(MutexGuard<'static, BTreeSet<RawFd>>);

impl Descriptors {
    /// Waits until no other thread opens or closes a connection.
    pub fn hold() -> Self {
        Self(private())
    }

    /// Closes them in a child, and begins a new generation.
    ///
    /// # Safety
    /// This process is a child that has just been forked, and none of the connections, clients and
    /// servers of its parent is used or dropped in it.
    pub unsafe fn close_in_child(mut self) {
        for number in std::mem::take(&mut *self.0) {
            // SAFETY: the owner of the descriptor is neither used nor dropped in this process.
            unsafe { close(number) };
        }
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
}

fn private() -> MutexGuard<'static, BTreeSet<RawFd>> {
    // Every change is one call, so the set is whole also after a panic.
    PRIVATE.lock().unwrap_or_else(PoisonError::into_inner)
}
