//! The network between hosts.

use serde::{Deserialize, Serialize};

/// The network between the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The most bytes that travel as one packet; each pays its own start-up.
    pub packet_bytes: u32,
    /// How large a message is.
    pub message_size: MessageSize,
    /// The latency of a message between two processes of one host, which does not use the
    /// interface.
    pub local_ns: u64,
    /// `paths[from][to]`: the way from a host of one group to a host of another, or of the same.
    pub paths: Vec<Vec<Path>>,
    /// Links that the messages of several hosts share and wait for.
    pub shared_links: Vec<SharedLink>,
}

/// How large a message is on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSize {
    /// As large as its encoding, with header and data.
    Encoded,
    /// So many bytes, whatever it says, and the data that goes with it.
    Fixed(u32),
}

/// The way between two hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Start-up of the sender's interface: it occupies the interface, for every packet.
    pub startup_ns: u64,
    /// The hops after it.
    pub hops: Vec<Hop>,
    /// The slowest link between the two interfaces, in bytes a second, if it may be slower than
    /// both.
    pub bytes_per_s: Option<u64>,
}

/// A step of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The link of [`Network::shared_links`] that a packet waits for, if any.
    pub shared_link: Option<u32>,
    /// The time that it takes beside, which occupies nothing.
    pub latency_ns: u64,
}

/// A link, back plane or trunk that serves one packet at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedLink {
    /// The name in reports.
    pub name: String,
    /// Bytes a second.
    pub bytes_per_s: u64,
}
