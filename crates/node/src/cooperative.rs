//! Whether clients read from each other's caches.

use serde::{Deserialize, Serialize};

/// Cooperative caching: clients read from each other's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cooperative {
    /// The memory for the cache of each client, in bytes.
    pub cache_bytes: u64,
}

impl Default for Cooperative {
    fn default() -> Self {
        Self {
            cache_bytes: 1 << 30,
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
    pub(crate) const fn within(self, cluster: Option<Cooperative>) -> Option<Cooperative> {
        match self {
            Self::AsCluster => cluster,
            Self::Off => None,
            Self::On(cooperative) => Some(cooperative),
        }
    }
}
