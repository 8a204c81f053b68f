//! Records of changes across servers, in the manner of dynamic software transactional memory
//! (Herlihy, Luchangco, Moir and Scherer, PODC 2003).

use crate::{BucketStart, FileId, Name, NameHash, ServerId, Time};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// An object that a transaction reserves by a locator, until the transaction is resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Target {
    /// A name, present or not.
    Entry(FileId, NameHash, Name),
    /// The links, the location in the tree and the existence of a node.
    Inode(FileId),
    /// A bucket: no entry may be inserted or removed.
    Header(FileId, BucketStart),
    /// The shape of the tree, reserved by a rename that moves a directory to another parent
    /// (invariant I8).
    Tree,
}

/// The state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransactionState {
    /// Undecided.
    Active,
    /// Its changes take effect.
    Committed,
    /// Its changes are discarded.
    Aborted,
}

/// The one record that decides a transaction (invariant I3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionStatus {
    /// The decision so far.
    pub state: TransactionState,
    /// When it began here. After a grace time any server may abort it.
    pub began: Time,
    /// The servers that hold locators of it, this one included.
    pub participants: Vec<ServerId>,
    /// The number of participants that have not confirmed that they resolved it. It is counted from
    /// the decision on.
    pub unresolved: u32,
}

/// The changes of a transaction on this server, which happen if it commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// The server that stores the status record.
    pub status_server: ServerId,
    /// When the first attempt at this operation began. The older one of two transactions wins.
    pub age: Time,
    /// When the locators were set here.
    pub since: Time,
    /// When the status was last requested; `None` if it never was.
    pub asked: Option<Time>,
    /// The steps, in the encoding of the wire.
    pub steps: Bytes,
    /// The targets that they reserve.
    pub targets: Vec<Target>,
}
