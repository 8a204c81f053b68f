//! A client: what all operations share.

use crate::{Config, Context};
use futago_base::ClusterMap;

/// A client of a cluster. Operations take `&self` and may run side by side on one thread.
pub struct Client<C> {
    context: C,
    map: ClusterMap,
    config: Config,
}

impl<C: Context> Client<C> {
    /// A client that knows nothing yet but the cluster's map.
    pub const fn new(context: C, map: ClusterMap, config: Config) -> Self {
        Self {
            context,
            map,
            config,
        }
    }

    /// Its way to the world.
    pub const fn context(&self) -> &C {
        &self.context
    }

    /// The cluster's map.
    pub const fn map(&self) -> &ClusterMap {
        &self.map
    }

    /// Its settings.
    pub const fn config(&self) -> &Config {
        &self.config
    }
}
