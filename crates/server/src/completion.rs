//! The results of an operation.

use alloc::collections::BTreeSet;
use futago_base::{Errno, FileId, Payload, TransactionId};
use futago_wire::{Failure, Reply};

/// The result of a successful operation.
#[derive(Debug)]
pub struct Completion {
    pub reply: Reply,
    pub payload: Payload,
}

impl From<Reply> for Completion {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            payload: Payload::empty(),
        }
    }
}

/// The result of any other operation. The server undoes the changes of the operation, except for
/// [`Refusal::Waits`].
#[derive(Debug)]
pub enum Refusal {
    /// The operation fails with an error for the client.
    Failure(Failure),
    /// A transaction has reserved a record that the operation reads. The operation runs again when
    /// the transaction is resolved.
    Conflict(TransactionId),
    /// Other clients hold leases on nodes that the operation changes. It runs again when they have
    /// returned the leases.
    Leased(BTreeSet<FileId>),
    /// Other clients still write earlier ranges of the file. The operation runs again when they
    /// have finished.
    Appended(FileId),
    /// The operation needs the data of a released file.
    Released(FileId),
    /// Another operation replies later.
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

/// The result of every operation.
pub type Result = core::result::Result<Completion, Refusal>;
/// The result of a part of an operation.
pub type Checked<T> = core::result::Result<T, Refusal>;
