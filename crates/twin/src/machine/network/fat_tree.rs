//! A fat tree of three levels of equal switches.

use super::ways::delay;
use crate::{
    machine::host::bytes_per_s,
    world::{Hop, Path, SharedLink},
};
use futago_lab::document::{Problem, bounds};
use serde::{Deserialize, Serialize};

/// A fat tree (Leiserson 1985) in the form of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008): with
/// switches of `k` ports it has `k` pods of `k/2` edge and `k/2` aggregation switches, `k²/4` core
/// switches and room for `k³/4` hosts. Messages take a shortest way; which of them follows from the
/// receiver, so that all ways up are used evenly. Servers take the first places, clients the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Ports of every switch, an even number.
    pub ports: u32,
    /// Rate of every link in each direction, in units of 10^6 bytes a second.
    #[serde(deserialize_with = "bounds::positive")]
    pub bandwidth_mb_per_s: f64,
    /// The latency of every switch, in nanoseconds; the network's start-up if absent.
    #[serde(
        default,
        deserialize_with = "bounds::some_time_ns",
        skip_serializing_if = "Option::is_none"
    )]
    pub latency_ns: Option<u64>,
    /// Whether messages wait for each other at the links between switches.
    #[serde(default)]
    pub shared_links: bool,
}

const PORTS_MAX: u32 = 256;
/// With shared links every pair of hosts has a way of its own, in a table.
const SHARED_HOSTS_MAX: u64 = 1024;

impl FatTree {
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.ports < 2 || self.ports > PORTS_MAX || !self.ports.is_multiple_of(2) {
            let text = format!(
                "{} must be an even number from 2 to {PORTS_MAX}",
                self.ports
            );
            return Err(Problem::new(text).inside("ports").inside("fat_tree"));
        }
        Ok(())
    }

    /// How many hosts it has room for.
    pub const fn hosts(&self) -> u32 {
        self.ports * self.ports * self.ports / 4
    }

    /// Whether so many hosts have room.
    pub(super) fn check_room(&self, wanted: u64) -> Result<(), Problem> {
        let room = u64::from(self.hosts());
        let problem = if wanted > room {
            Problem::new(format!(
                "a fat tree of {} ports has room for {room} hosts, and there are {wanted}",
                self.ports
            ))
            .suggest(format!("{} ports are enough", ports_for(wanted)))
        } else if self.shared_links && wanted > SHARED_HOSTS_MAX {
            Problem::new(format!(
                "a fat tree with shared links is limited to {SHARED_HOSTS_MAX} hosts, and there \
                 are {wanted}"
            ))
            .suggest("put more processes on a host, or leave `shared_links` out")
        } else {
            return Ok(());
        };
        Err(problem.inside("ports").inside("fat_tree"))
    }

    const fn half(&self) -> u32 {
        self.ports / 2
    }

    /// The place of a host: its own, or, where all hosts of an edge switch are alike, that switch.
    pub(super) const fn place(&self, host: u32) -> u32 {
        if self.shared_links {
            host
        } else {
            host / self.half() * self.half()
        }
    }

    /// Links of one level and direction: as many as hosts.
    pub(super) fn shared_links(&self) -> Vec<SharedLink> {
        if !self.shared_links {
            return Vec::new();
        }
        let levels = ["edge up", "aggregation up", "aggregation down", "edge down"];
        let all = levels
            .iter()
            .flat_map(|level| (0..self.hosts()).map(move |number| (level, number)));
        all.map(|(level, number)| SharedLink {
            name: format!("{level} {number}"),
            bytes_per_s: bytes_per_s(self.bandwidth_mb_per_s),
        })
        .collect()
    }

    /// The path between two hosts: one, three or five switches and the links between them.
    pub(super) fn path(&self, switch_ns: u64, from: u32, to: u32) -> Path {
        let links = self.links(from, to);
        let mut hops = vec![delay(switch_ns)];
        for (level, number) in links {
            hops.push(Hop {
                latency_ns: 0,
                shared_link: self.shared_links.then_some(level * self.hosts() + number),
            });
            hops.push(delay(switch_ns));
        }
        Path {
            startup_ns: 0,
            bytes_per_s: (hops.len() > 1).then(|| bytes_per_s(self.bandwidth_mb_per_s)),
            hops,
        }
    }

    /// The links between two hosts, by level and number. The receiver's number chooses the
    /// aggregation switch of both pods, and the core switch.
    fn links(&self, from: u32, to: u32) -> Vec<(u32, u32)> {
        let half = self.half();
        let (aggregation, core) = (to % half, to / half % half);
        let (from_edge, to_edge) = (from / half, to / half);
        if from_edge == to_edge {
            return Vec::new();
        }
        let up = (0, from_edge * half + aggregation);
        let down = (3, to_edge * half + aggregation);
        let (from_pod, to_pod) = (from_edge / half, to_edge / half);
        if from_pod == to_pod {
            return vec![up, down];
        }
        let to_core = |pod: u32| (pod * half + aggregation) * half + core;
        vec![up, (1, to_core(from_pod)), (2, to_core(to_pod)), down]
    }
}

/// The fewest ports with room for so many hosts.
fn ports_for(hosts: u64) -> u64 {
    let enough = |ports: &u64| ports * ports * ports / 4 >= hosts;
    (2..).step_by(2).find(enough).unwrap_or(u64::MAX)
}
