//! What servers say to each other.

use alloc::vec::Vec;
use futago_base::{
    BucketStart, FileId, Incarnation, Name, ServerId, SessionId, TransactionId,
    record::{Entry, Header, TransactionState, Truncation},
};
use serde::{Deserialize, Serialize};

/// A message from one server to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Peer {
    /// Message `number` of the ordered channel from `sender`. It is sent again until it is
    /// confirmed and takes effect once.
    Deliver {
        /// The server that sends.
        sender: ServerId,
        /// The life in which it sends.
        from: Incarnation,
        /// The receiver's life that it is for; `None` if the sender does not know of any. Another
        /// one takes nothing of it.
        to: Option<Incarnation>,
        /// Its place in the channel between these lives, from 1.
        number: u64,
        /// What is to change.
        change: PeerChange,
    },
    /// Asks the status server where a transaction stands.
    Ask {
        /// The server that asks.
        sender: ServerId,
        /// The transaction.
        transaction: TransactionId,
        /// Abort it if it is undecided.
        abort: bool,
    },
    /// A client was not heard of for a lease: the receiver is not to serve its session any more. It
    /// is sent again until it is answered.
    Fence {
        /// The server that tells it.
        sender: ServerId,
        /// The client's session.
        session: SessionId,
    },
}

/// The answer to a [`Peer`] message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerAnswer {
    /// All messages of the channel to `receiver` up to `number` have taken effect.
    Delivered {
        /// The server that received.
        receiver: ServerId,
        /// The life in which it received them.
        by: Incarnation,
        /// The life in which they were sent.
        from: Incarnation,
        /// The number of the last one.
        number: u64,
    },
    /// Where a transaction stands. One that is unknown is aborted.
    State {
        /// The transaction.
        transaction: TransactionId,
        /// Its state.
        state: TransactionState,
    },
    /// The receiver of a [`Peer::Fence`] does not serve the session.
    Fenced {
        /// That server.
        receiver: ServerId,
        /// The client's session.
        session: SessionId,
    },
}

/// A change that one server owes another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerChange {
    /// A name of the file is gone.
    DropLink(FileId),
    /// Chunks of the file may be written to the receiver from now on.
    Admit {
        /// The file.
        file: FileId,
        /// The latest shrinking that they need not hear of any more.
        heard: u64,
    },
    /// The file is gone: so are its chunks, and the receiver takes no more of them.
    RemoveChunks(FileId),
    /// The file has shrunk.
    Cut {
        /// The file.
        file: FileId,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// Which shrinking, and to what size.
        truncation: Truncation,
    },
    /// Entries of a bucket that this server now has. The last message of a bucket brings its header.
    Transfer {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Some of its entries.
        entries: Vec<(Name, Entry)>,
        /// The header, with the counts of all of them.
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
