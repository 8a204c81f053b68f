//! The messages of contact servers: what they relay from the homes of names and files.

use crate::{FileState, Lease, Spot};
use alloc::vec::Vec;
use futago_base::{Duration, FileId, record::Entry};
use serde::{Deserialize, Serialize};

/// A question that a contact server may answer from its cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// The entry of a name.
    Entry(Spot),
    /// The state of a file at its home.
    State(FileId),
}

impl Question {
    /// The node whose lease covers the answer.
    pub const fn node(&self) -> FileId {
        match self {
            Self::Entry(at) => at.directory,
            Self::State(id) => *id,
        }
    }
}

/// The answer to a [`Question`].
#[allow(
    clippy::large_enum_variant,
    reason = "both variants hold a state, which nearly all answers have"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RelayedFact {
    /// The entry of a name, under a lease on its directory.
    Entry {
        /// The entry; `None` if the name does not exist.
        entry: Option<Entry>,
        /// The state of the file under a lease on it, if the server of the name has both.
        state: Option<FileState>,
    },
    /// The state of a file, under a lease on it.
    State(FileState),
}

/// A fact from the cache of a contact server, with leases that this server recalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayed {
    /// The fact.
    pub fact: RelayedFact,
    /// How long it is valid at most, from when the client sent its request.
    pub lasts: Duration,
}

/// A message of a contact server to a home, in a session of its own there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContactMessage {
    /// Asks for a fact with the leases that cover it. It never waits.
    Ask(Question),
    /// Returns leases: of each node the lease of this number or an earlier one.
    GiveBack(Vec<Lease>),
    /// Shows that the contact server is alive.
    KeepAlive,
}

/// The reply of a home to a [`ContactMessage`].
#[allow(
    clippy::large_enum_variant,
    reason = "replies are made, sent and dropped one at a time"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContactReply {
    /// The fact, with leases whose number is the number of the message.
    Granted(RelayedFact),
    /// The home grants no lease now.
    Refused,
    /// The message is handled.
    Done,
    /// The home has given up the session.
    SessionExpired,
}
