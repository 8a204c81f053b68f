//! Records about other parties: sessions of clients and channels to other servers.

use crate::{FileId, Incarnation, Payload, RequestId, ServerId, SessionId, Time, TransactionId};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A client, or a contact server, that has sent requests to this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// When the last request arrived, to within an eighth of the lease.
    pub seen: Time,
    /// All requests up to this number are acknowledged: their replies are deleted, and a late copy
    /// of such a request is refused.
    pub acknowledged: u64,
    /// The number of its leases.
    pub leases: u32,
    /// Whether it is served.
    pub state: SessionState,
    /// The contact server whose session it is; `None` for a client.
    pub contact: Option<ServerId>,
}

/// Whether a server serves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionState {
    /// The session is served.
    Living,
    /// The session is no longer served, because this server or another one has not heard of it for
    /// a lease.
    ///
    /// Its locks and opens are given up once no other server serves it either (invariant I14): see
    /// [`Key::Unfenced`](super::Key::Unfenced).
    Fenced {
        /// The start of the fence.
        since: Time,
        /// When the other servers were last notified.
        notified: Time,
    },
    /// Its locks and opens are given up. The record stays for a while to refuse late requests.
    Expired,
}

/// Which sessions have a file open.
pub type Opens = Vec<Opener>;

/// A session that has a file open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opener {
    /// The session.
    pub session: SessionId,
    /// The number of its open handles.
    pub count: u32,
    /// The ranges that it is appending beyond the size that other clients see, in the order of
    /// requests.
    pub appends: Vec<AppendRange>,
}

/// A range at a file's end that was granted to a writer and is not confirmed as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendRange {
    /// First byte.
    pub from: u64,
    /// The byte after the last.
    pub to: u64,
    /// When it was granted.
    pub since: Time,
}

/// A recall of the leases on a node, in progress or recent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recall {
    /// When the first request began to wait for it.
    pub since: Time,
    /// When the holders were last notified.
    pub notified: Time,
    /// The client that keeps its lease, because its own request waits for the others.
    pub keeper: Option<SessionId>,
}

/// A message that waits until clients return leases or finish an append, or until a transaction is
/// resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Waiter {
    /// A message of the ordered channel from another server.
    Peer {
        /// The sender.
        sender: ServerId,
        /// The sender's incarnation.
        from: Incarnation,
        /// The number of the message.
        number: u64,
    },
    /// A client's request.
    Request(RequestId),
}

impl Waiter {
    /// The smallest.
    pub(super) const FIRST: Self = Self::Peer {
        sender: ServerId(0),
        from: Incarnation(0),
        number: 0,
    };
    /// The largest.
    pub(super) const LAST: Self = Self::Request(RequestId {
        session: SessionId(u64::MAX),
        sequence: u64::MAX,
    });
}

/// The event that a [`Waiter`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Awaited {
    /// A transaction is resolved.
    Transaction(TransactionId),
    /// The leases on a node are returned, or appends to it are done.
    Node(FileId),
}

/// A stored message, in the encoding of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// The encoded message.
    pub body: Bytes,
    /// The data that goes with it.
    pub payload: Payload,
}

/// The state of the ordered channel to another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxChannel {
    /// The incarnation of the receiver that the numbers are for; `None` until it has confirmed one.
    pub receiver: Option<Incarnation>,
    /// The number of the last message put into the channel.
    pub last: u64,
    /// All messages up to this number have arrived.
    pub delivered: u64,
    /// When the oldest unconfirmed message was last sent, or the receiver last confirmed one.
    pub sent: Time,
}

/// The state of the ordered channel from another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxChannel {
    /// The incarnation of the sender that the numbers are of.
    pub sender: Incarnation,
    /// All messages up to this number have taken effect.
    pub done: u64,
}

/// A reply that waits until the messages that its request caused have been delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldReply {
    /// The request to answer.
    pub request: RequestId,
    /// The number of messages that are not yet delivered.
    pub waiting: u32,
    /// When the reply is sent even if messages are undelivered.
    pub deadline: Time,
}
