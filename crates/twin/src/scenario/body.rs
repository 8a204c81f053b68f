//! The content of a scenario without its sweep.

use super::{Cluster, Medium, Workload, traces::Traces};
use crate::{
    machine::Machine,
    world::{self, Setup},
};
use futago_des::Executor;
use futago_lab::document::{Problem, bounds};
use futago_store::Sync;
use serde::{Deserialize, Deserializer};

/// A scenario, with one value for each parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Its purpose, in a few words.
    #[serde(default)]
    pub description: String,
    /// The servers and clients.
    pub cluster: Cluster,
    /// The machine.
    pub machine: Machine,
    /// The work of the clients.
    pub workload: Workload,
    /// The faults.
    #[serde(default)]
    pub faults: world::Faults,
    /// How to run it.
    #[serde(default)]
    pub run: Run,
    /// The limits.
    #[serde(default)]
    pub limits: Limits,
}

/// How to run a scenario. Only the seeds have an influence on the results.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Every point is run once with each of these.
    #[serde(deserialize_with = "seeds")]
    pub seeds: Vec<u64>,
    /// The executor.
    #[serde(deserialize_with = "executor")]
    pub executor: Executor,
    /// Threads of the conservative and the optimistic executor.
    #[serde(deserialize_with = "threads")]
    pub threads: u32,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            seeds: vec![1],
            executor: Executor::Sequential,
            threads: 1,
        }
    }
}

/// Sizes that are taken for a mistake when they are exceeded.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Points of the sweep, all seeds counted.
    pub points: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { points: 10_000 }
    }
}

/// The words for executors.
pub const EXECUTORS: [(&str, Executor); 3] = [
    ("sequential", Executor::Sequential),
    ("conservative", Executor::Conservative),
    ("optimistic", Executor::Optimistic),
];

fn executor<'de, D: Deserializer<'de>>(from: D) -> Result<Executor, D::Error> {
    let word = String::deserialize(from)?;
    let found = EXECUTORS.iter().find(|(name, _)| *name == word);
    let names = EXECUTORS.map(|(name, _)| name);
    found
        .map(|(_, executor)| *executor)
        .ok_or_else(|| serde::de::Error::custom(Problem::unknown("executor", &word, &names)))
}

fn threads<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    bounds::within(u32::deserialize(from)?, 1..=futago_des::THREADS_MAX)
}

fn seeds<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    let seeds = Vec::deserialize(from)?;
    if seeds.is_empty() {
        return Err(serde::de::Error::custom("there must be a seed at least"));
    }
    Ok(seeds)
}

/// The key of a scenario for a part of a setup, such as `hosts[3].cores`.
fn key_of(part: &str) -> String {
    let part = part.replace('[', ".").replace(']', "");
    let first = part.split_once('.').map_or(&*part, |(first, _)| first);
    let table = match first {
        "store" | "disk" | "hosts" | "network" | "costs" => "machine.",
        "directories" | "wide" | "phases" => "workload.",
        "protocol" => "cluster.",
        _ => "",
    };
    format!("{table}{part}")
}

/// A mistake in the workload, unless it is one in another file.
fn in_workload(problem: Problem) -> Problem {
    match problem.origin {
        Some(_) => problem,
        None => problem.inside("workload"),
    }
}

impl Body {
    /// Whether its parts fit together.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let network = self.machine.check();
        network.map_err(|problem| problem.inside("machine"))?;
        let cluster = self.cluster.check();
        cluster.map_err(|problem| problem.inside("cluster"))?;
        let workload = self.workload.check(&self.cluster);
        workload.map_err(|problem| problem.inside("workload"))
    }

    /// The disk of each server, and what its servers promise.
    fn disk(&self) -> Result<Option<(world::Disk, Sync)>, Problem> {
        match (self.cluster.store, self.machine.disk) {
            (Medium::Memory, _) => Ok(None),
            (Medium::Disk, Some(disk)) => Ok(Some((disk, self.cluster.sync))),
            (Medium::Disk, None) => {
                let problem = Problem::new("the machine has no `disk`");
                Err(problem.inside("store").inside("cluster"))
            }
        }
    }

    /// The simulation's setup with this seed.
    pub(super) fn setup(&self, seed: u64, traces: &Traces<'_>) -> Result<Setup, Problem> {
        let Cluster {
            servers, clients, ..
        } = self.cluster;
        let layout = self.machine.lay_out(servers, clients);
        let layout = layout.map_err(|problem| problem.inside("machine"))?;
        let phases = self.workload.world_phases(clients, traces);
        let setup = Setup {
            seed,
            hosts: layout.hosts,
            bind_to_core: self.cluster.bind_to_core,
            network: layout.network,
            costs: self.machine.costs.clone(),
            store: self.machine.store,
            disk: self.disk()?,
            protocol: self.cluster.protocol(),
            directories: self.workload.world_directories(),
            wide: self.workload.wide,
            phases: phases.map_err(in_workload)?,
            faults: self.faults.clone(),
        };
        match setup.check() {
            Ok(()) => Ok(setup),
            Err(world::Error::Setup { part, reason }) => {
                let key = key_of(&part);
                Err(key.rsplit('.').fold(Problem::new(reason), Problem::inside))
            }
            Err(error) => Err(Problem::new(error.to_string())),
        }
    }
}
