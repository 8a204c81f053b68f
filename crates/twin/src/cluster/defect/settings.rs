//! Defects of what servers and clients are configured with, and of their clocks.

use super::Defect;
use futago_base::{ClusterMap, Duration, Moment, ServerId, map::Policy};
use futago_driver::AdmissionConfig;

/// How much longer a client relies on its leases.
pub(super) const TOO_LONG: Duration = Duration::from_secs(3600);

impl Defect {
    /// Alters the settings of servers.
    pub const fn alter_server(self, config: &mut futago_server::Config) {
        match self {
            Self::ExpiresEarly => config.lease.0 /= 2,
            Self::NeverExpires => config.lease = Duration::MAX,
            _ => {}
        }
    }

    /// Alters the map of a server.
    pub fn alter_map_of_server(self, id: ServerId, map: ClusterMap) -> ClusterMap {
        let is_last = id.0 + 1 == map.server_count();
        match self {
            Self::ServesWithStaleMap if is_last => with_other_places(map),
            _ => map,
        }
    }

    /// Alters the map of clients.
    pub fn alter_map_of_client(self, map: ClusterMap) -> ClusterMap {
        match self {
            Self::AsksWithStaleMap => with_other_places(map),
            _ => map,
        }
    }

    /// Alters how many requests a server takes on.
    pub const fn alter_admission(self, config: &mut AdmissionConfig) {
        if matches!(self, Self::AdmitsTooMany) {
            config.session_max *= 2;
            config.total_max *= 2;
        }
    }

    /// Alters the time at which a server decides, given what its clocks show.
    pub fn alter_moment(self, decided: Moment, now: Moment) -> Moment {
        match self {
            Self::ServersMeasureByWallClock => Moment {
                steady: now.stamp,
                ..decided
            },
            _ => decided,
        }
    }

    /// Alters the settings of clients.
    pub fn alter_client(self, config: &mut futago_client::Config) {
        if self == Self::TakesDamagedCopies {
            config.copy_sums = false;
        }
        if self == Self::TrustsLeasesTooLong {
            let longer = |trust: Duration| Duration(trust.0 + TOO_LONG.0);
            config.lease_trust = config.lease_trust.map(longer);
        }
    }
}

/// A map with the same servers, and partitions elsewhere.
fn with_other_places(map: ClusterMap) -> ClusterMap {
    let (partitions, servers) = (map.partition_count(), usize::from(map.server_count()));
    let other = ClusterMap::new(map.epoch(), Policy::Rendezvous, partitions, servers);
    other.unwrap_or(map)
}
