use std::iter::Sum;

use serde::{Deserialize, Serialize};

use super::Node;
use crate::{ProcessId, Snapshot, Time};

/// The result of a lookup.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Result {
    /// The lookup found an owner of the key.
    Found {
        /// Nodes on the way, the owner included.
        hops: u32,
        /// The time from the first question to the last reply.
        latency: Time,
        /// Whether it is the owner if all nodes are there.
        right: bool,
    },
    /// The lookup found none.
    Failed,
}

/// The lookups of one node, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookups {
    /// Lookups that found an owner.
    pub found: u64,
    /// Lookups that found the right owner of a complete ring.
    pub found_right: u64,
    /// Lookups that found none.
    pub failed: u64,
    /// The sum of the hops of successful lookups.
    pub hops: u64,
    /// The sum of their latencies, in ticks.
    pub latency_ticks: u128,
}

impl Lookups {
    pub(super) fn add(&mut self, result: Result) {
        match result {
            Result::Failed => self.failed += 1,
            Result::Found {
                hops,
                latency,
                right,
            } => {
                self.found += 1;
                self.found_right += u64::from(right);
                self.hops += u64::from(hops);
                self.latency_ticks += u128::from(latency.ticks());
            }
        }
    }

    /// Mean number of hops.
    pub fn mean_hops(&self) -> f64 {
        self.hops as f64 / self.found.max(1) as f64
    }

    /// Mean latency in seconds.
    pub fn mean_latency_s(&self) -> f64 {
        self.latency_ticks as f64 / self.found.max(1) as f64 / 1e9
    }
}

impl<'a> Sum<&'a Lookups> for Lookups {
    fn sum<I: Iterator<Item = &'a Lookups>>(parts: I) -> Lookups {
        parts.fold(Lookups::default(), |all, part| Lookups {
            found: all.found + part.found,
            found_right: all.found_right + part.found_right,
            failed: all.failed + part.failed,
            hops: all.hops + part.hops,
            latency_ticks: all.latency_ticks + part.latency_ticks,
        })
    }
}

/// The sum over these nodes.
pub fn measure(processes: &[(ProcessId, Snapshot<Node>)]) -> Lookups {
    processes.iter().map(|(_, node)| &node.record).sum()
}
