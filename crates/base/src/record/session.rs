//! Records about other parties: clients' sessions and the channels to other servers.

use crate::{Incarnation, Payload, RequestId, SessionId, Time};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::Serialize;

/// A client that this server has heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// When it was last heard of (to within an eighth of the lease).
    pub seen: Time,
    /// All its requests up to this number are done with: their replies are forgotten, and a late
    /// copy of one is refused.
    pub acknowledged: u64,
    /// How many leases it has.
    pub leases: u32,
    /// How it stands.
    pub state: SessionState,
}

/// How a session stands with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum SessionState {
    /// It is served.
    Living,
    /// It was not heard of for a lease, here or at another server, and is served no more. What it
    /// holds is given up when no other server serves it either: see
    /// [`Key::Unfenced`](super::Key::Unfenced).
    Fenced {
        /// Since when.
        since: Time,
        /// When the other servers were last told.
        told: Time,
    },
    /// What it held is given up. The record stays for a while to refuse what is late.
    Expired,
}

/// Which sessions have a file open.
pub type Opens = Vec<Opener>;

/// A session that has a file open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opener {
    /// The session.
    pub session: SessionId,
    /// How often it has it open.
    pub count: u32,
    /// What it is writing at the file's end, beyond the size that others are shown, in the order of
    /// requests.
    pub appends: Vec<AppendRange>,
}

/// A range at a file's end that somebody was given, and has not said to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AppendRange {
    /// First byte.
    pub from: u64,
    /// The byte after the last.
    pub to: u64,
    /// When it was given.
    pub since: Time,
}

/// The leases on a node are called back, or were a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Recall {
    /// Since when somebody waits for them.
    pub since: Time,
    /// When their holders were last told.
    pub told: Time,
}

/// A message that is kept, in the encoding of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredMessage {
    /// The request it came with or goes out as; its session is meaningless in an outbox.
    pub request: RequestId,
    /// The encoded message.
    pub body: Bytes,
    /// The data that goes with it.
    pub payload: Payload,
}

/// The state of the ordered channel to another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutboxChannel {
    /// The life of the receiver that the numbers are for; `None` until it has confirmed one.
    pub receiver: Option<Incarnation>,
    /// The receiver's life before, from which nothing is heard any more.
    pub before: Option<Incarnation>,
    /// The number of the last message put into the channel.
    pub last: u64,
    /// All messages up to this number have arrived.
    pub delivered: u64,
    /// When the oldest unconfirmed message was last sent, or the receiver last confirmed one.
    pub sent: Time,
}

/// The state of the ordered channel from another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InboxChannel {
    /// The life of the sender that the numbers are of.
    pub sender: Incarnation,
    /// All messages up to this number have taken effect.
    pub done: u64,
    /// The sender's life before, of which nothing is heard any more.
    pub before: Option<Incarnation>,
}

/// A reply that waits until the messages that its request caused have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldReply {
    /// The request to answer.
    pub request: RequestId,
    /// How many messages are still under way.
    pub waiting: u32,
    /// When it is sent whether they have arrived or not.
    pub deadline: Time,
}
