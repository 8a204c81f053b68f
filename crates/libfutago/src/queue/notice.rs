//! The descriptor that a program can poll.

use rustix::{
    event::{EventfdFlags, eventfd},
    io::{read, write},
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

/// A descriptor that is readable while something is shown.
pub struct Notice(OwnedFd);

impl Notice {
    /// # Errors
    /// `EMFILE`.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(eventfd(0, flags)?))
    }

    /// Makes the descriptor readable.
    pub fn show(&self) {
        // It fails only if the counter is full, and then the descriptor is readable.
        let _ = write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes the descriptor unreadable.
    pub fn hide(&self) {
        // It fails only if the descriptor is unreadable.
        let _ = read(&self.0, &mut [0; size_of::<u64>()]);
    }
}

impl AsFd for Notice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Notice {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
