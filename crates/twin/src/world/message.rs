//! What processes say to each other, and how large it is on the network.

use super::MessageSize;
use futago_base::{Payload, RequestId, ServerId, SessionId, Time};
use futago_wire::{Outcome, Peer, PeerAnswer, Request, codec::HEADER_BYTES};
use serde::{Deserialize, Serialize};

/// A process of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Party {
    /// A server.
    Server(ServerId),
    /// A client, by its number.
    Client(u32),
}

impl Party {
    /// The client that has a session.
    pub fn of_session(session: SessionId) -> Self {
        Self::Client(session.0 as u32)
    }
}

/// The session of a client that has lost `expired` sessions before.
pub fn session_of(client: u32, expired: u32) -> SessionId {
    SessionId(u64::from(expired + 1) << 32 | u64::from(client))
}

/// A message from one process to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Who sends it.
    pub from: Party,
    /// Who gets it.
    pub to: Party,
    /// The sender's hybrid clock.
    pub clock: Time,
    /// What it says.
    pub content: Content,
    /// File data that goes with it.
    pub payload: Payload,
    /// When its last byte is there, if the receiver may find it before that; else 0.
    pub whole_ns: u64,
}

/// What a message says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Content {
    /// From a client.
    Request {
        /// Which one.
        id: RequestId,
        /// The client has the answers to all its requests up to this number.
        acknowledged: u64,
        /// What it asks.
        request: Request,
    },
    /// To a client.
    Outcome {
        /// The request that is answered.
        id: RequestId,
        /// The answer.
        outcome: Outcome,
    },
    /// From server to server.
    Peer(Peer),
    /// Its answer.
    PeerAnswer(PeerAnswer),
}

impl Message {
    /// Its size on the network, in bytes.
    pub fn size_bytes(&self, how: MessageSize) -> u64 {
        match how {
            MessageSize::Fixed(bytes) => u64::from(bytes) + self.payload.len() as u64,
            MessageSize::Encoded => (HEADER_BYTES + self.body_bytes() + self.payload.len()) as u64,
        }
    }

    /// The size of the body as the wire has it.
    fn body_bytes(&self) -> usize {
        let size = match &self.content {
            Content::Request { request, .. } => postcard::experimental::serialized_size(request),
            Content::Outcome { outcome, .. } => postcard::experimental::serialized_size(outcome),
            Content::Peer(peer) => postcard::experimental::serialized_size(peer),
            Content::PeerAnswer(answer) => postcard::experimental::serialized_size(answer),
        };
        // Everything that the wire can carry can be measured.
        size.unwrap_or_default()
    }
}
