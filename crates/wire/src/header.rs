//! The fixed head of every message.

use futago_base::{ServerId, SessionId, Time};

/// What a message's body is.
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
    /// Somebody waits for it.
    #[default]
    Foreground,
    /// It can wait.
    Background,
}

/// Optional abilities of a sender, as bits of [`Header::features`].
pub mod features {
    /// The client keeps what it has been told under leases: it takes [`Push::Recall`](crate::Push::Recall).
    pub const LEASES: u32 = 1;
    /// The session has no answer from this server yet, so the server may meet it for the first
    /// time. It refuses a session that it does not know and that claims to be known.
    pub const INTRODUCES: u32 = 2;
}

/// What every message carries beside its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the body is.
    pub kind: MessageKind,
    /// How urgent it is.
    pub priority: Priority,
    /// The server that it is for, or whose answer or [`Push`](crate::Push) it is: several may share a connection.
    pub server: ServerId,
    /// The session of the request, or the one that is answered.
    pub session: SessionId,
    /// Raised when a session is fenced and starts anew.
    pub session_epoch: u32,
    /// The version of the cluster map that the sender has.
    pub map_epoch: u32,
    /// The number of the request within its session, or of the one that is answered.
    pub sequence: u64,
    /// The client has the answers to all its requests up to this number.
    pub acknowledged: u64,
    /// The position in the sender's log that the message depends on.
    pub log_position: u64,
    /// When nobody waits for an answer any more; zero for never.
    pub deadline: Time,
    /// The sender's hybrid clock (Kulkarni et al., OPODIS 2014).
    pub clock: Time,
    /// The trace that the message is part of; zero for none.
    pub trace: u64,
    /// The span within the trace.
    pub span: u64,
    /// Whose work this is, for accounting.
    pub tenant: u32,
    /// Optional [`features`] of the sender.
    pub features: u32,
}

impl Header {
    /// A header of this kind with everything else at rest.
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
