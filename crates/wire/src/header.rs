//! The fixed head of every message.

use futago_base::{ServerId, SessionId, Time};

/// The kind of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A [`Request`](crate::Request).
    Request,
    /// An [`Outcome`](crate::Outcome).
    Outcome,
    /// A [`Peer`](crate::Peer) message.
    Peer,
    /// A [`PeerAnswer`](crate::PeerAnswer).
    PeerAnswer,
    /// A [`Push`](crate::Push).
    Push,
    /// A [`CacheRequest`](crate::CacheRequest).
    CacheRequest,
    /// A [`CacheReply`](crate::CacheReply).
    CacheReply,
}

/// Optional abilities of a sender, as bits of [`Header::features`].
pub mod features {
    /// The client caches state under leases: it accepts [`Push::Recall`](crate::Push::Recall).
    pub const LEASES: u32 = 1;
    /// The session has no reply from this server yet, so the server may be seeing it for the first
    /// time. The server refuses an unknown session without this bit.
    pub const INTRODUCES: u32 = 2;
}

/// The fields that every message carries beside its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of the body.
    pub kind: MessageKind,
    /// The addressed server, or the sender of a reply or [`Push`](crate::Push). Several servers may
    /// share a connection. 0 between clients.
    pub server: ServerId,
    /// The session of the request; a reply repeats it. Between clients it is that of the
    /// client that asks.
    pub session: SessionId,
    /// The number of the request within its session; a reply repeats it.
    pub sequence: u64,
    /// The client has received the replies to all its requests up to this number.
    pub acknowledged: u64,
    /// The sender's hybrid clock (Kulkarni et al., OPODIS 2014).
    pub clock: Time,
    /// The sender's version of the cluster map.
    pub map_epoch: u32,
    /// Optional [`features`] of the sender.
    pub features: u32,
}

impl Header {
    /// A header of this kind; all other fields are zero.
    pub const fn new(kind: MessageKind) -> Self {
        Self {
            kind,
            server: ServerId(0),
            session: SessionId(0),
            sequence: 0,
            acknowledged: 0,
            clock: Time(0),
            map_epoch: 0,
            features: 0,
        }
    }
}
