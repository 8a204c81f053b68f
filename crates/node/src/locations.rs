//! Where the servers of a cluster are: the part of its description that a move of a server changes.

use crate::{Cluster, ServerEntry};
use bytes::Bytes;
use futago_base::ServerId;
use futago_transport::Address;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, PoisonError, RwLock};

/// Where the servers of a cluster are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Locations {
    /// The version of the cluster map; a later one is larger.
    pub epoch: u32,
    /// The servers, by number.
    pub servers: Vec<ServerEntry>,
}

/// Where one server is.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The version of the cluster map that says so.
    pub epoch: u32,
    /// The address that it listens at.
    pub address: Address,
}

impl From<&Cluster> for Locations {
    fn from(cluster: &Cluster) -> Self {
        Self {
            epoch: cluster.epoch,
            servers: cluster.servers.clone(),
        }
    }
}

/// The latest known locations, for all threads of a process.
#[derive(Clone, Debug)]
pub struct SharedLocations(Arc<RwLock<Locations>>);

impl SharedLocations {
    /// The locations that a cluster's description names.
    pub fn new(cluster: &Cluster) -> Self {
        Self(Arc::new(RwLock::new(cluster.into())))
    }

    /// The version of the cluster map.
    pub fn epoch(&self) -> u32 {
        self.read(|known| known.epoch)
    }

    /// The number of servers.
    pub fn count(&self) -> u16 {
        self.read(|known| known.servers.len() as u16)
    }

    /// Where a server is.
    pub fn of(&self, server: ServerId) -> Option<Location> {
        self.read(|known| {
            let entry = known.servers.get(usize::from(server.0))?;
            Some(Location {
                epoch: known.epoch,
                address: entry.address.clone(),
            })
        })
    }

    /// The locations as JSON, if they are later than these; otherwise no bytes.
    pub fn after(&self, epoch: u32) -> Bytes {
        self.read(|known| match known.epoch > epoch {
            // Numbers and strings always encode.
            true => serde_json::to_vec(known).unwrap_or_default().into(),
            false => Bytes::new(),
        })
    }

    /// Adopts later locations of the same servers. Returns whether they were.
    pub fn renew(&self, newer: Locations) -> bool {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_newer = newer.epoch > known.epoch && newer.servers.len() == known.servers.len();
        if is_newer {
            *known = newer;
        }
        is_newer
    }

    fn read<T>(&self, look: impl FnOnce(&Locations) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locations(epoch: u32, count: usize) -> Locations {
        let server = ServerEntry {
            address: Address::Unix(format!("/{epoch}").into()),
            host: None,
            process: 0,
        };
        Locations {
            epoch,
            servers: vec![server; count],
        }
    }

    #[test]
    fn only_later_locations_of_the_same_servers_are_adopted() {
        let known = SharedLocations(Arc::new(RwLock::new(locations(5, 2))));
        assert!(!known.renew(locations(5, 2)));
        assert!(!known.renew(locations(4, 2)));
        assert!(!known.renew(locations(6, 3)));
        assert!(known.renew(locations(7, 2)));
        let found = known.of(ServerId(1)).unwrap();
        assert_eq!(
            (found.epoch, found.address.to_string()),
            (7, "unix:/7".into())
        );
        assert_eq!(known.of(ServerId(2)), None);
    }
}
