//! What a client has read and served since it began.

use serde::{Deserialize, Serialize};

/// The counters of a client that caches file data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingCounters {
    /// The data that was read into the cache from servers, in bytes.
    pub bytes_from_servers: u64,
    /// The data that was read into the cache from other clients, in bytes.
    pub bytes_from_peers: u64,
    /// The data that other clients were sent, in bytes.
    pub bytes_served: u64,
    /// How often other clients have asked this one.
    pub asked: u64,
    /// How often they got data.
    pub served: u64,
    /// How often other clients were asked and had nothing, or did not answer in time.
    pub missed: u64,
    /// How often data of another client was damaged.
    pub damaged: u64,
}
