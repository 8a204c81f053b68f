//! How an operation ends.

use alloc::collections::BTreeSet;
use futago_base::{Errno, FileId, Payload, TransactionId};
use futago_wire::{Failure, Reply};

/// A successful end.
#[derive(Debug)]
pub struct Answer {
    pub reply: Reply,
    pub payload: Payload,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            payload: Payload::empty(),
        }
    }
}

/// Any other end. What the operation had changed is forgotten, except for [`Refusal::Waits`].
#[derive(Debug)]
pub enum Refusal {
    /// It is not done, and the client is told why.
    Failure(Failure),
    /// A transaction has reserved something that the operation needs to know: it runs again when
    /// the transaction is resolved.
    Conflict(TransactionId),
    /// Other clients have leases on nodes that it would change: it runs again when they have given them back.
    Leased(BTreeSet<FileId>),
    /// Others append to a file what comes before: it runs again when they are done.
    Appended(FileId),
    /// The answer comes later, when another operation gives it.
    Waits,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self::Failure(Failure::Errno(errno))
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// What every operation returns.
pub type Result = core::result::Result<Answer, Refusal>;
/// What the parts of an operation return.
pub type Checked<T> = core::result::Result<T, Refusal>;
