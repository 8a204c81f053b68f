//! Messages between processes, and their sizes on the network.

use super::MessageSize;
use futago_base::{Payload, RequestId, ServerId, SessionId, Time};
use futago_wire::{
    CacheReply, CacheRequest, LeaseRecall, Outcome, Peer, PeerAnswer, Request,
    codec::{DATA_SUM_BYTES, HEADER_BYTES},
};
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
    /// The sender.
    pub from: Party,
    /// The receiver.
    pub to: Party,
    /// The sender's hybrid clock.
    pub clock: Time,
    /// The content.
    pub content: Content,
    /// File data that goes with it.
    pub payload: Payload,
    /// When its sender puts it in, if the receiver may find the first part before the last has
    /// arrived.
    pub put_in: Option<PutIn>,
}

/// When a sender puts in a large message that it publishes part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutIn {
    /// The first part is published.
    pub from_ns: u64,
    /// The last part is published.
    pub until_ns: u64,
}

/// How much of a message is published at a time, as by the rings of crate `futago-transport`.
pub const PUBLISH_BYTES: usize = 64 << 10;

/// The content of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Content {
    /// From a client.
    Request {
        /// Which one.
        id: RequestId,
        /// The client has the answers to all its requests up to this number.
        acknowledged: u64,
        /// Whether the session may be one that the server does not know yet.
        introduces: bool,
        /// The request.
        request: Request,
    },
    /// To a client.
    Outcome {
        /// The request that is answered.
        id: RequestId,
        /// The answer.
        outcome: Outcome,
    },
    /// To a client: nodes on which it holds leases are about to change.
    Recall(Vec<LeaseRecall>),
    /// From server to server.
    Peer(Peer),
    /// Its answer.
    PeerAnswer(PeerAnswer),
    /// From a client to a client that shares its cache.
    CacheRequest {
        /// The sender's session, and its number for the request.
        id: RequestId,
        /// The request.
        request: CacheRequest,
    },
    /// Its answer.
    CacheReply {
        /// The request that is answered.
        id: RequestId,
        /// The answer.
        reply: CacheReply,
    },
}

impl PutIn {
    /// How much of a message with so much data has been published.
    fn published_bytes(self, bytes: usize, ns: u64) -> usize {
        if ns >= self.until_ns {
            return bytes;
        }
        let elapsed_ns = ns.saturating_sub(self.from_ns);
        let later_parts = u128::from(elapsed_ns) * later_bytes(bytes) / self.part_weight();
        bytes.min(PUBLISH_BYTES * (1 + later_parts as usize))
    }

    /// When more has been published than these whole parts of a message with so much data.
    fn published_beyond_ns(self, bytes: usize, parts: usize) -> u64 {
        let later_ns = (parts as u128 * self.part_weight()).div_ceil(later_bytes(bytes));
        self.until_ns.min(self.from_ns + later_ns as u64)
    }

    const fn part_weight(self) -> u128 {
        (self.until_ns - self.from_ns) as u128 * PUBLISH_BYTES as u128
    }
}

/// The data after the first part.
fn later_bytes(bytes: usize) -> u128 {
    bytes.saturating_sub(PUBLISH_BYTES).max(1) as u128
}

impl Message {
    /// How much of its data has been published.
    pub fn published_bytes(&self, ns: u64) -> usize {
        let bytes = self.payload.len();
        self.put_in
            .map_or(bytes, |put_in| put_in.published_bytes(bytes, ns))
    }

    /// When more of its data has been published than so much, which are whole parts.
    pub fn published_beyond_ns(&self, bytes: usize) -> u64 {
        let parts = bytes / PUBLISH_BYTES;
        self.put_in.map_or(0, |put_in| {
            put_in.published_beyond_ns(self.payload.len(), parts)
        })
    }

    /// Its size on the network, in bytes.
    pub fn size_bytes(&self, how: MessageSize) -> u64 {
        match how {
            MessageSize::Fixed(bytes) => u64::from(bytes) + self.payload.len() as u64,
            MessageSize::Encoded => (HEADER_BYTES + self.body_bytes() + self.data_bytes()) as u64,
        }
    }

    /// The size of the data with its checksum.
    fn data_bytes(&self) -> usize {
        match self.payload.len() {
            0 => 0,
            bytes => bytes + DATA_SUM_BYTES,
        }
    }

    /// The size of the body as the wire has it.
    fn body_bytes(&self) -> usize {
        let size = match &self.content {
            Content::Request { request, .. } => postcard::experimental::serialized_size(request),
            Content::Outcome { outcome, .. } => postcard::experimental::serialized_size(outcome),
            Content::Recall(recalls) => postcard::experimental::serialized_size(recalls),
            Content::Peer(peer) => postcard::experimental::serialized_size(peer),
            Content::PeerAnswer(answer) => postcard::experimental::serialized_size(answer),
            Content::CacheRequest { request, .. } => {
                postcard::experimental::serialized_size(request)
            }
            Content::CacheReply { reply, .. } => postcard::experimental::serialized_size(reply),
        };
        // Everything that the wire can carry can be measured.
        size.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_published_part_by_part_while_it_is_put_in() {
        let bytes = 4 * PUBLISH_BYTES + 1;
        let put_in = PutIn {
            from_ns: 1_000,
            until_ns: 1_101,
        };
        let published = |ns| put_in.published_bytes(bytes, ns);
        assert_eq!([published(1_000), published(1_033)], [PUBLISH_BYTES; 2]);
        assert_eq!(published(1_100), 3 * PUBLISH_BYTES);
        assert_eq!(published(1_101), bytes);
        for parts in 1..=4 {
            let beyond_ns = put_in.published_beyond_ns(bytes, parts);
            assert!(published(beyond_ns - 1) <= parts * PUBLISH_BYTES);
            assert!(published(beyond_ns) > parts * PUBLISH_BYTES);
        }
    }
}
