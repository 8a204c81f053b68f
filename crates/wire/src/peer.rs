//! The messages between servers.

use crate::{ContactMessage, ContactReply, LeaseRecall};
use alloc::vec::Vec;
use futago_base::{
    BucketStart, FileId, Incarnation, Name, RequestId, ServerId, SessionId, TransactionId,
    record::{Entry, Header, TransactionState, Truncation},
};
use serde::{Deserialize, Serialize};

/// A message from one server to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Peer {
    /// Message `number` of the ordered channel from `sender`. It is sent again until it is
    /// confirmed, and takes effect once.
    Deliver {
        /// The sending server.
        sender: ServerId,
        /// The sender's incarnation.
        from: Incarnation,
        /// The addressed incarnation of the receiver; `None` if the sender knows none. Another
        /// incarnation ignores the message.
        to: Option<Incarnation>,
        /// Its number in the channel between these incarnations, from 1.
        number: u64,
        /// The change to make.
        change: PeerChange,
    },
    /// Asks the status server for the state of a transaction.
    Ask {
        /// The requesting server.
        sender: ServerId,
        /// The transaction.
        transaction: TransactionId,
        /// Abort it if it is undecided.
        abort: bool,
    },
    /// Tells the receiver to stop serving the session of a client that was silent for a lease. It
    /// is sent again until it is answered.
    Fence {
        /// The sending server.
        sender: ServerId,
        /// The client's session.
        session: SessionId,
    },
    /// A message of a contact server. It is not sent again: without a reply in time, clients ask
    /// the home themselves.
    Contact {
        /// The contact server.
        sender: ServerId,
        /// Its session with the receiver.
        session: SessionId,
        /// The number of the message in the session.
        number: u64,
        /// Whether the session may be new to the receiver.
        introduces: bool,
        /// The message.
        message: ContactMessage,
    },
    /// Recalls leases of a contact server. It is sent again until the leases are returned.
    Recall {
        /// The sending server.
        sender: ServerId,
        /// The contact server's session.
        session: SessionId,
        /// The leases.
        recalls: Vec<LeaseRecall>,
    },
}

impl Peer {
    /// The server that the message claims to be from.
    pub const fn sender(&self) -> ServerId {
        match self {
            Self::Deliver { sender, .. }
            | Self::Ask { sender, .. }
            | Self::Fence { sender, .. }
            | Self::Contact { sender, .. }
            | Self::Recall { sender, .. } => *sender,
        }
    }
}

/// The reply to a [`Peer`] message.
#[allow(
    clippy::large_enum_variant,
    reason = "replies are made, sent and dropped one at a time"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerAnswer {
    /// All messages of the channel to `receiver` up to `number` have taken effect.
    Delivered {
        /// The receiving server.
        receiver: ServerId,
        /// The receiver's incarnation.
        by: Incarnation,
        /// The sender's incarnation.
        from: Incarnation,
        /// The number of the last message.
        number: u64,
    },
    /// The state of a transaction. An unknown transaction is aborted.
    State {
        /// The transaction.
        transaction: TransactionId,
        /// Its state.
        state: TransactionState,
    },
    /// The receiver of a [`Peer::Fence`] does not serve the session.
    Fenced {
        /// The receiver of the [`Peer::Fence`].
        receiver: ServerId,
        /// The client's session.
        session: SessionId,
    },
    /// The reply to a [`Peer::Contact`].
    Contact {
        /// The receiver of the message.
        receiver: ServerId,
        /// The contact server's session.
        session: SessionId,
        /// The number of the message.
        number: u64,
        /// The reply.
        reply: ContactReply,
    },
}

/// A change that one server must make on behalf of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerChange {
    /// A name of the file was removed.
    DropLink {
        /// The file.
        file: FileId,
        /// The request that removed it, if it named the file: its client does not rely on the
        /// attributes that it got under a lease before.
        by: Option<RequestId>,
    },
    /// The receiver accepts chunks of the file from now on.
    Admit {
        /// The file.
        file: FileId,
        /// The latest truncation at the time of admission.
        heard: u64,
    },
    /// The file was removed: the receiver removes its chunks and accepts no more of them.
    RemoveChunks(FileId),
    /// The file was truncated.
    Cut {
        /// The file.
        file: FileId,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The number and the size of the truncation.
        truncation: Truncation,
    },
    /// Entries of a bucket that moves to the receiver. The last message of a bucket carries its
    /// header, with which the receiver begins to serve it (invariant I1).
    Transfer {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Some of its entries.
        entries: Vec<(Name, Entry)>,
        /// The header, with the counts of all entries.
        header: Option<Header>,
    },
    /// A transaction is decided.
    Resolve {
        /// The transaction.
        transaction: TransactionId,
        /// Whether its steps are to be installed.
        committed: bool,
    },
}
