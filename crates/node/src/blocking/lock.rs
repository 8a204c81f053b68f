//! The lock of a file.

use super::File;
use futago_base::record::{LockKind, LockRange, LockSpace};
use futago_client::Cancel;
use futago_wire::LockChange;
use std::{io, process};

impl File {
    /// Waits for the advisory lock of the whole file. It belongs to this `File`, ends with it, and
    /// excludes locks of `flock` on mounts.
    ///
    /// # Errors
    /// Those of `flock`.
    pub fn lock(&self, kind: LockKind) -> io::Result<()> {
        self.set_lock(Some(kind), Some(&Cancel::new()))
    }

    /// The same without waiting. Returns whether the lock is taken.
    ///
    /// # Errors
    /// As [`File::lock`].
    pub fn try_lock(&self, kind: LockKind) -> io::Result<bool> {
        match self.set_lock(Some(kind), None) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// As [`File::lock`].
    pub fn unlock(&self) -> io::Result<()> {
        self.set_lock(None, None)
    }

    fn set_lock(&self, kind: Option<LockKind>, wait: Option<&Cancel>) -> io::Result<()> {
        let change = LockChange {
            space: LockSpace::Whole,
            kind,
            owner: self.open.number(),
            range: LockRange {
                start: 0,
                end: u64::MAX,
            },
            pid: process::id(),
        };
        self.run(async |client| {
            let files = client.files();
            files.set_lock(client, &self.open, change, wait).await
        })
    }
}
