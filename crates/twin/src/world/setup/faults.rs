//! Faults.

use serde::{Deserialize, Serialize};

/// The faults. Probabilities are those of a message between hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// The share of messages that are lost.
    pub lost: f64,
    /// The share of messages that arrive twice.
    pub doubled: f64,
    /// The share of messages that are late, and overtaken by others.
    pub late: f64,
    /// How late, at most.
    pub late_ns: u64,
    /// Hosts that cannot reach each other for a while.
    pub partitions: Vec<HostPartition>,
    /// Clients that die: their numbers and when.
    pub dead_clients: Vec<(u32, u64)>,
    /// Servers that stop and come back empty.
    pub stopped_servers: Vec<ServerStop>,
}

/// Two hosts that cannot reach each other for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPartition {
    /// One of them.
    pub one: u32,
    /// The other.
    pub other: u32,
    /// From when.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
}

/// A server that stops, loses everything, and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerStop {
    /// The server.
    pub server: u32,
    /// When it stops.
    pub at_ns: u64,
    /// When it is back.
    pub back_ns: u64,
}
