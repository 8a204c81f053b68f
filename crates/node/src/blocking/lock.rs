//! Advisory locks.

use super::File;
use futago_base::record::{LockKind, RangeLock};
use futago_client::Cancel;
use futago_files::RangeLockRequest;
use std::{io, process};

/// The reaction to a lock that conflicts with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockConflict {
    /// It waits for the end of that lock.
    Wait,
    /// It fails with `EAGAIN`.
    Fail,
}

impl LockConflict {
    fn cancel(self) -> Option<Cancel> {
        match self {
            Self::Wait => Some(Cancel::new()),
            Self::Fail => None,
        }
    }
}

impl File {
    /// Waits for the advisory lock of the whole file. It belongs to this `File`, ends with it, and
    /// excludes locks of `flock` on mounts.
    ///
    /// # Errors
    /// Those of `flock`.
    pub fn lock(&self, kind: LockKind) -> io::Result<()> {
        self.set_lock(Some(kind), LockConflict::Wait)
    }

    /// The same without waiting. Returns whether the lock is taken.
    ///
    /// # Errors
    /// As [`File::lock`].
    pub fn try_lock(&self, kind: LockKind) -> io::Result<bool> {
        match self.set_lock(Some(kind), LockConflict::Fail) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// As [`File::lock`].
    pub fn unlock(&self) -> io::Result<()> {
        self.set_lock(None, LockConflict::Fail)
    }

    fn set_lock(&self, kind: Option<LockKind>, conflict: LockConflict) -> io::Result<()> {
        let wait = conflict.cancel();
        self.run(async |client| {
            let files = client.files();
            let lock = self
                .handle()
                .lock(files, client, kind, process::id(), wait.as_ref());
            lock.await
        })
    }

    /// Takes or releases a lock on a range. It excludes locks of `fcntl` on mounts.
    ///
    /// # Errors
    /// Those of `fcntl` with `F_SETLK` or `F_SETLKW`.
    pub fn set_range_lock(
        &self,
        request: RangeLockRequest,
        conflict: LockConflict,
    ) -> io::Result<()> {
        let wait = conflict.cancel();
        self.run(async |client| {
            let files = client.files();
            let lock = self
                .handle()
                .lock_range(files, client, request, wait.as_ref());
            lock.await
        })
    }

    /// The lock that conflicts with a lock on a range, if any.
    ///
    /// # Errors
    /// Those of `fcntl` with `F_GETLK`.
    pub fn conflicting_lock(&self, request: RangeLockRequest) -> io::Result<Option<RangeLock>> {
        self.run(async |client| self.handle().conflicting_lock(client, request).await)
    }
}
