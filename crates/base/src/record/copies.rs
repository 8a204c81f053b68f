//! Records of cooperative caching: which clients probably have a piece of a file in their caches.

use crate::{SessionId, Time};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// How other clients reach a client that shares its cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Door {
    /// The host of the client: a number that differs from host to host.
    pub host: u64,
    /// The text of the address that it listens at.
    pub address: Bytes,
}

/// The holders of the piece of a file that has last used a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    /// The number of the piece.
    pub piece: u64,
    /// The holders, the earliest first.
    pub holders: Vec<CopyHolder>,
}

/// A client that has a piece of a file, or is about to get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyHolder {
    /// The client.
    pub session: SessionId,
    /// How many caches the piece has passed through on its way to this one, with this one.
    pub depth: u8,
    /// How many readers were sent to it since `since`.
    pub readers: u8,
    /// The time of the first of these readers.
    pub since: Time,
}
