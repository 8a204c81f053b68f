//! Whether clients read from each other's caches.

use serde::{Deserialize, Serialize};

/// Cooperative caching: clients read from each other's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cooperative {
    /// The memory for the cache of each client, in bytes.
    pub cache_bytes: u64,
    /// Files of fewer bytes are read from the servers alone.
    #[serde(default = "file_bytes_min")]
    pub file_bytes_min: u64,
    /// How often blocks that probably no other client has pass to another client instead of being
    /// evicted: the *n* of N-chance forwarding.
    #[serde(default)]
    pub chances: u8,
}

fn file_bytes_min() -> u64 {
    futago_client::Config::default().shared_bytes_min
}

impl Default for Cooperative {
    fn default() -> Self {
        Self {
            cache_bytes: 1 << 30,
            file_bytes_min: file_bytes_min(),
            chances: 0,
        }
    }
}

/// The choice of one client about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CooperativeChoice {
    /// As the cluster file says.
    #[default]
    AsCluster,
    /// It reads from servers only, and serves nobody.
    Off,
    /// It shares its cache.
    On(Cooperative),
}

impl CooperativeChoice {
    /// The choice in a cluster that says this.
    pub(crate) fn within(self, cluster: Option<Cooperative>) -> Option<Cooperative> {
        match self {
            Self::AsCluster => cluster,
            Self::Off => None,
            Self::On(own) => Some(Cooperative {
                cache_bytes: own.cache_bytes,
                ..cluster.unwrap_or(own)
            }),
        }
    }
}
