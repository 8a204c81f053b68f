//! Records of contact servers: what a server caches of other homes for its clients.

use super::Entry;
use crate::{ServerId, SessionId, Time};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// The relation of a contact server to a home: a session there, and the leases in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The session of the contact server at the home.
    pub session: SessionId,
    /// How many sessions there have been before.
    pub earlier: u32,
    /// The number of the last message in the session.
    pub last: u64,
    /// When the last message was sent.
    pub sent: Time,
    /// When the latest answered message was sent: the leases are valid for a while after that.
    pub answered: Time,
    /// Whether the home has answered once in this session.
    pub is_known: bool,
    /// Whether the session is over: clients return the last relayed leases.
    pub is_over: bool,
    /// How many relays and relayed entries there are of this home.
    pub facts: u32,
}

/// A message to a home that is not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consultation {
    /// When it was sent.
    pub sent: Time,
    /// The encoded question; empty if the message only shows that the contact server is alive.
    pub question: Bytes,
}

/// A lease that a contact server holds on a node, and relays to its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relay {
    /// The number of the lease.
    pub number: u64,
    /// The encoded state of the node, if it is known.
    pub state: Bytes,
    /// When a client last asked for it, to within an eighth of the lease.
    pub used: Time,
    /// Whether the lease is returned as soon as no client holds a relayed lease.
    pub is_ending: bool,
}

/// A name that a contact server knows under a lease on its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayedEntry {
    /// The server of the name.
    pub home: ServerId,
    /// The entry; `None` if the name does not exist.
    pub entry: Option<Entry>,
}

/// A question of clients that a contact server has not answered from its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The hash of the question.
    pub hash: u64,
    /// The client that asked last.
    pub by: SessionId,
    /// When it asked, or when the home refused.
    pub since: Time,
    /// The progress of the question.
    pub state: HintState,
}

impl Hint {
    /// The hash of an encoded question.
    pub fn hash_of(question: &[u8]) -> u64 {
        xxh3_64(question)
    }
}

/// The progress of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HintState {
    /// One client has asked.
    Asked,
    /// The home is being asked.
    Pending,
    /// The home has granted no lease.
    Refused,
}
