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
}

/// How urgent a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// A caller waits for it.
    #[default]
    Foreground,
    /// No caller waits for it.
    Background,
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
    /// How urgent it is.
    pub priority: Priority,
    /// The addressed server, or the sender of a reply or [`Push`](crate::Push). Several servers may
    /// share a connection.
    pub server: ServerId,
    /// The session of the request; a reply repeats it.
    pub session: SessionId,
    /// Raised when a session is fenced and starts anew.
    pub session_epoch: u32,
    /// The sender's version of the cluster map.
    pub map_epoch: u32,
    /// The number of the request within its session; a reply repeats it.
    pub sequence: u64,
    /// The client has received the replies to all its requests up to this number.
    pub acknowledged: u64,
    /// The position in the sender's log that the message depends on.
    pub log_position: u64,
    /// The time after which the sender does not need a reply; zero for never.
    pub deadline: Time,
    /// The sender's hybrid clock (Kulkarni et al., OPODIS 2014).
    pub clock: Time,
    /// The trace that the message is part of; zero for none.
    pub trace: u64,
    /// The span within the trace.
    pub span: u64,
    /// The tenant to account the work to.
    pub tenant: u32,
    /// Optional [`features`] of the sender.
    pub features: u32,
}

impl Header {
    /// A header of this kind; all other fields are zero.
    pub const fn new(kind: MessageKind) -> Self {
        Self {
            kind,
            priority: Priority::Foreground,
            server: ServerId(0),
            session: SessionId(0),
            session_epoch: 0,
            map_epoch: 0,
            sequence: 0,
            acknowledged: 0,
            log_position: 0,
            deadline: Time(0),
            clock: Time(0),
            trace: 0,
            span: 0,
            tenant: 0,
            features: 0,
        }
    }
}
