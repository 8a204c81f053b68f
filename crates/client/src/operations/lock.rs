//! Advisory locks.

use crate::{Cancel, Client, Context};
use futago_base::{Errno, FileId, record::LockSpace, record::RangeLock};
use futago_wire::LockChange;

impl<C: Context> Client<C> {
    /// The lock that is in the way of `lock`, if any.
    pub async fn test_lock(
        &self,
        id: FileId,
        lock: LockChange,
    ) -> Result<Option<RangeLock>, Errno> {
        Err(Errno::ENOSYS)
    }

    /// Takes or gives up a lock. With `wait`, waits for it until it is granted or the wait is
    /// cancelled. Errors: `EAGAIN` if others are in the way, `EINTR` if cancelled, `EDEADLK`.
    pub async fn set_lock(
        &self,
        id: FileId,
        lock: LockChange,
        wait: Option<&Cancel>,
    ) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    /// Gives up all locks of one owner on a file.
    pub async fn release_locks(
        &self,
        id: FileId,
        space: LockSpace,
        owner: u64,
    ) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
