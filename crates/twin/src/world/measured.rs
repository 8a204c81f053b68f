//! The measurements of a run.

use super::OperationKind;
use futago_des::watch::Statistics;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Phase by phase.
    pub phases: Vec<MeasuredPhase>,
    /// The engine's statistics: events, wall time, digest.
    pub engine: Statistics,
}

/// The results of a phase.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredPhase {
    /// Its name.
    pub name: String,
    /// When its measured part began, in seconds of the simulation.
    pub began_s: f64,
    /// How long its measured part took, in seconds.
    pub measured_s: f64,
    /// By kind of operation; those that never occurred are not there.
    pub operations: BTreeMap<OperationKind, MeasuredOperation>,
    /// The outcomes of changes on several servers.
    pub transactions: MeasuredTransactions,
    /// Where data came from that all clients read.
    pub sources: Option<MeasuredSources>,
    /// Operations that had arrived and had not begun when the measured part ended.
    pub left: u64,
    /// By class of resource; those that the world does not have are not there.
    pub resources: BTreeMap<ResourceClass, MeasuredResource>,
}

/// How operations of one kind went.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredOperation {
    /// How many succeeded within the measured part.
    pub count: u64,
    /// How many failed, by error.
    pub errors: BTreeMap<String, u64>,
    /// Successes a second.
    pub per_s: f64,
    /// File data that they moved, in MiB a second.
    pub mib_per_s: f64,
    /// Mean latency of the successes, in microseconds.
    pub mean_us: f64,
    /// Half of them took no longer.
    pub p50_us: f64,
    /// 99 of 100 took no longer.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// The outcomes of transactions in the measured part. A change on one server is no transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredTransactions {
    /// How many have begun.
    pub begun: u64,
    /// How many took effect.
    pub committed: u64,
    /// How many were given up: because something was no longer as expected, for an older one that
    /// wanted the same, or because others had waited for them for too long.
    pub aborted: u64,
    /// How often a request met what a transaction had reserved, and waited for it.
    pub conflicts: u64,
    /// Attempts at operations of any kind that came to nothing and were made again.
    pub retries: u64,
}

/// Where data came from that all clients read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredSources {
    /// From servers, in bytes.
    pub bytes_from_servers: u64,
    /// From the caches of other clients, in bytes.
    pub bytes_from_clients: u64,
    /// How often the servers sent the whole data.
    pub copies_from_servers: f64,
}

/// A class of resources, all of which do the same for the system.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumIter,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ResourceClass {
    /// Clients at which operations arrive: one at a time each.
    Client,
    /// Sending, at hosts without servers.
    ClientNicSend,
    /// Receiving, at hosts without servers.
    ClientNicReceive,
    /// Cores of hosts without servers.
    ClientCpu,
    /// Sending, at hosts with servers.
    ServerNicSend,
    /// Receiving, at hosts with servers.
    ServerNicReceive,
    /// Servers: one request at a time each, whatever cores their hosts have.
    Server,
    /// Cores of hosts with servers.
    ServerCpu,
    /// Memory of hosts whose cores share its bandwidth.
    Memory,
    /// Stores.
    Store,
    /// Shared links.
    SharedLink,
}

/// How busy the resources of one class were, over the measured part.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MeasuredResource {
    /// How many there are: interfaces, cores, servers, places of stores, links. 0 if without limit.
    pub units: u64,
    /// How often one was used.
    pub uses: u64,
    /// Uses a second.
    pub uses_per_s: f64,
    /// Mean time of a use, without waiting, in microseconds.
    pub service_us: f64,
    /// Mean time of waiting before a use, in microseconds.
    pub wait_us: f64,
    /// Busy time of all over what they could have been busy; 0 where units are without limit.
    pub utilisation: f64,
    /// The same of the busiest host or link.
    pub utilisation_max: f64,
    /// How many waited at a time, on average, at all of them together.
    pub queue_mean: f64,
}
