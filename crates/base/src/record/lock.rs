//! Advisory locks, kept at the locked file's home. They are volatile: they die with their session.

use crate::SessionId;
use serde::{Deserialize, Serialize};

/// Which of the two families of locks; they do not see each other, as on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LockSpace {
    /// `fcntl` range locks, owned by a process.
    Range,
    /// `flock` whole-file locks, owned by an open file description.
    Whole,
}

/// Shared or exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockKind {
    /// Any number of owners may hold it together.
    Shared,
    /// One owner alone.
    Exclusive,
}

/// Who holds a lock: a number that the client's kernel gave, within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LockOwner {
    /// The client.
    pub session: SessionId,
    /// The process or the open file description.
    pub owner: u64,
}

/// The bytes `start..=end`; `end` is `u64::MAX` for "to the end of the file, however it grows".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRange {
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub end: u64,
}

impl LockRange {
    /// Whether the two share a byte.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// A lock that is held or asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeLock {
    /// Its family.
    pub space: LockSpace,
    /// Shared or exclusive.
    pub kind: LockKind,
    /// Who holds it.
    pub owner: LockOwner,
    /// The locked bytes.
    pub range: LockRange,
    /// The process that asked, for `F_GETLK`.
    pub pid: u32,
}

/// A lock request that waits for others to let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LockWaiter {
    /// What is asked for.
    pub lock: RangeLock,
    /// The request that is answered when the lock is granted.
    pub request: crate::RequestId,
}
