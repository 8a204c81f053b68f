//! Records of changes across servers, in the manner of dynamic software transactional memory
//! (Herlihy, Luchangco, Moir and Scherer, PODC 2003).

use crate::{BucketStart, FileId, Name, NameHash, ServerId, Time};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// What a transaction reserves: a locator stands beside it until the transaction is resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Target {
    /// A name, present or not.
    Entry(FileId, NameHash, Name),
    /// The links, the place and the existence of a node.
    Inode(FileId),
    /// A bucket: no entry may come or go.
    Header(FileId, BucketStart),
    /// The shape of the tree: held by a rename that moves a directory to another parent.
    Tree,
}

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransactionState {
    /// Undecided.
    Active,
    /// Its changes count.
    Committed,
    /// Its changes never happened.
    Aborted,
}

/// The one record that decides a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TransactionStatus {
    /// Where it stands.
    pub state: TransactionState,
    /// When it began here: after a grace time anybody may abort it.
    pub began: Time,
    /// The servers that hold locators of it, this one included.
    pub participants: Vec<ServerId>,
    /// How many of them have not confirmed that they resolved it; counted once it is decided.
    pub unresolved: u32,
}

/// What a transaction will change on this server if it commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Participant {
    /// The server that keeps the status record.
    pub status_server: ServerId,
    /// When the first attempt at this operation began: of two transactions the older one wins.
    pub age: Time,
    /// When the locators were placed here.
    pub since: Time,
    /// When the status was last asked for, if ever.
    pub asked: Option<Time>,
    /// The steps, in the encoding of the wire.
    pub steps: Bytes,
    /// What they reserve.
    pub targets: Vec<Target>,
}
