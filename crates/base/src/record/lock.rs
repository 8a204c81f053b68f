//! Advisory locks, stored at the locked file's home. They are volatile and end with their session.

use crate::SessionId;
use serde::{Deserialize, Serialize};

/// The family of a lock. As on Linux, locks of different families do not conflict.
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
    /// Any number of owners may hold the lock together.
    Shared,
    /// One owner alone.
    Exclusive,
}

/// The owner of a lock: a number from the client's kernel, unique within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LockOwner {
    /// The client.
    pub session: SessionId,
    /// The process or the open file description.
    pub owner: u64,
}

/// The bytes `start..=end`. An `end` of `u64::MAX` reaches to the end of the file, however it
/// grows.
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

/// A lock that is held or requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeLock {
    /// Its family.
    pub space: LockSpace,
    /// Shared or exclusive.
    pub kind: LockKind,
    /// The holder or requester.
    pub owner: LockOwner,
    /// The locked bytes.
    pub range: LockRange,
    /// The requesting process, for `F_GETLK`.
    pub pid: u32,
}

/// A lock request that waits until conflicting locks are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockWaiter {
    /// The requested lock.
    pub lock: RangeLock,
    /// The request that is answered when the lock is granted.
    pub request: crate::RequestId,
}
