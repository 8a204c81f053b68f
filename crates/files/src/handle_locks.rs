//! Locks that are taken through handles.

use crate::{FileHandle, LockHolder, OpenFiles, Operations};
use core::pin::pin;
use futago_base::{
    Errno,
    record::{LockKind, LockRange, RangeLock},
};
use futago_client::Cancel;
use futago_wire::LockChange;

/// The owner of the locks that belong to a process as a whole. No open file has this number.
pub(crate) const PROCESS: u64 = 0;

/// The owner of locks on ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeOwner {
    /// The process, as of `F_SETLK`: its locks on a file end when it closes any handle of the file.
    Process,
    /// The handle, as of `F_OFD_SETLK`: its locks end with it.
    Handle,
}

/// A lock on a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeLockRequest {
    /// The owner of the lock.
    pub owner: RangeOwner,
    /// The kind of lock; `None` releases.
    pub kind: Option<LockKind>,
    /// The bytes.
    pub range: LockRange,
    /// The requesting process.
    pub pid: u32,
}

impl FileHandle {
    /// Takes or releases the lock of the whole file, as `flock` does. With `wait`, it waits until
    /// the lock is granted or the wait is cancelled.
    ///
    /// # Errors
    /// `EAGAIN` for a conflict, `EINTR` if cancelled, `ESTALE`, `EIO`.
    pub async fn lock(
        &self,
        files: &OpenFiles,
        client: &impl Operations,
        kind: Option<LockKind>,
        pid: u32,
        wait: Option<&Cancel>,
    ) -> Result<(), Errno> {
        let range = LockRange {
            start: 0,
            end: u64::MAX,
        };
        let holder = LockHolder::of_whole(self.id(), self.open.number());
        let change = lock_change(holder, kind, range, pid);
        files.set_lock(client, &self.open, change, wait).await
    }

    /// Takes or releases a lock on a range, as `fcntl` does.
    ///
    /// # Errors
    /// As [`FileHandle::lock`]; `EBADF` if the lock needs an access that the handle does not have.
    pub async fn lock_range(
        &self,
        files: &OpenFiles,
        client: &impl Operations,
        request: RangeLockRequest,
        wait: Option<&Cancel>,
    ) -> Result<(), Errno> {
        match request.kind {
            Some(LockKind::Shared) => self.mode.access.check_read()?,
            Some(LockKind::Exclusive) => self.mode.access.check_write()?,
            None => {}
        }
        let change = self.range_change(request);
        files.set_lock(client, &self.open, change, wait).await
    }

    /// The lock that conflicts with a lock on a range, if any.
    ///
    /// # Errors
    /// `ESTALE`, `EIO`.
    pub async fn conflicting_lock(
        &self,
        client: &impl Operations,
        request: RangeLockRequest,
    ) -> Result<Option<RangeLock>, Errno> {
        let change = self.range_change(request);
        let test = pin!(client.core().test_lock(self.id(), change));
        self.open.run(client, test).await
    }

    fn range_change(&self, request: RangeLockRequest) -> LockChange {
        let owner = match request.owner {
            RangeOwner::Process => PROCESS,
            RangeOwner::Handle => self.open.number(),
        };
        let holder = LockHolder::of_ranges(self.id(), owner);
        lock_change(holder, request.kind, request.range, request.pid)
    }
}

const fn lock_change(
    holder: LockHolder,
    kind: Option<LockKind>,
    range: LockRange,
    pid: u32,
) -> LockChange {
    LockChange {
        space: holder.space,
        kind,
        owner: holder.owner,
        range,
        pid,
    }
}
