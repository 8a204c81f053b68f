//! From what hosts have counted to what a run has measured.

use super::model::WorldModel;
use super::process::World;
use super::scene::Scene;
use super::statistics::{OperationTable, OperationTally, SourcesTable, TransactionTable, Usage};
use super::{
    Activity, Amount, Measured, MeasuredOperation, MeasuredPhase, MeasuredResource,
    MeasuredSources, MeasuredTransactions, Phase, ResourceClass,
};
use futago_des::ProcessId;
use futago_des::ranks::{Ranks, share};
use futago_des::watch::Statistics;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counts of the processes of a rank, or of all ranks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Gathered {
    operations: OperationTable,
    resources: BTreeMap<(u32, ResourceClass), Use>,
    transactions: TransactionTable,
    left: BTreeMap<u32, u64>,
    sources: SourcesTable,
}

/// How the resources of one class were used in one phase.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Use {
    all: Usage,
    /// The busy time of the busiest host's or link's, over the number of its units.
    busiest_ns: u64,
}

impl Gathered {
    pub fn new(model: &WorldModel, processes: &[(ProcessId, World)]) -> Self {
        let mut gathered = Self {
            operations: model.operations(),
            resources: BTreeMap::new(),
            transactions: TransactionTable::new(),
            left: BTreeMap::new(),
            sources: SourcesTable::new(),
        };
        for (id, process) in processes {
            let usage = match process {
                World::Host(host) => {
                    gathered.add_counts(&host.transactions, &host.left);
                    gathered.add_sources(&host.sources);
                    &host.usage
                }
                World::Link(link) => &link.usage,
                World::Conductor(_) => continue,
            };
            for (&key, usage) in usage {
                let units = units_at(&model.scene, *id, key.1).max(1);
                let entry = gathered.resources.entry(key).or_default();
                entry.all.merge(usage);
                entry.busiest_ns = entry.busiest_ns.max(usage.busy_ns / units);
            }
        }
        gathered
    }

    fn add_counts(&mut self, transactions: &TransactionTable, left: &BTreeMap<u32, u64>) {
        for (&phase, transactions) in transactions {
            let all = self.transactions.entry(phase).or_default();
            all.merge(transactions);
        }
        for (&phase, left) in left {
            *self.left.entry(phase).or_default() += left;
        }
    }

    fn add_sources(&mut self, sources: &SourcesTable) {
        for (&phase, sources) in sources {
            let all = self.sources.entry(phase).or_default();
            all.add([sources.bytes_from_servers, sources.bytes_from_clients]);
        }
    }

    /// The counts of all ranks.
    pub fn share(self, ranks: &mut dyn Ranks) -> Result<Self, futago_des::Error> {
        if ranks.count() == 1 {
            return Ok(self);
        }
        let mut all = Self::default();
        for one in share(ranks, &self)? {
            all.merge(one);
        }
        Ok(all)
    }

    fn merge(&mut self, other: Self) {
        for (key, tally) in other.operations {
            self.operations.entry(key).or_default().merge(&tally);
        }
        for (key, usage) in other.resources {
            let entry = self.resources.entry(key).or_default();
            entry.all.merge(&usage.all);
            entry.busiest_ns = entry.busiest_ns.max(usage.busiest_ns);
        }
        self.add_counts(&other.transactions, &other.left);
        self.add_sources(&other.sources);
    }

    /// The results.
    pub fn measured(&self, scene: &Scene, engine: Statistics) -> Measured {
        let phases = (0..).zip(&scene.setup.phases);
        Measured {
            phases: phases
                .map(|(number, phase)| self.phase(scene, number, phase))
                .collect(),
            engine,
        }
    }

    fn phase(&self, scene: &Scene, number: u32, phase: &Phase) -> MeasuredPhase {
        let operations = self.operations.iter().filter(|((of, _), _)| *of == number);
        let tallies = operations.clone().map(|(_, tally)| tally);
        let began_ns = tallies
            .clone()
            .map(|tally| tally.from_ns)
            .min()
            .unwrap_or(0);
        let last_ns = tallies
            .clone()
            .map(|tally| tally.last_ns)
            .max()
            .unwrap_or(0);
        let measured_s = match phase.amount {
            Amount::Operations(_) => last_ns.saturating_sub(began_ns),
            Amount::Duration { measured_ns, .. } => measured_ns,
        } as f64
            / 1e9;
        let resources = self.resources.iter().filter(|((of, _), _)| *of == number);
        let transactions = self.transactions.get(&number).copied();
        MeasuredPhase {
            name: phase.name.clone(),
            began_s: began_ns as f64 / 1e9,
            measured_s,
            operations: operations
                .map(|(&(_, kind), tally)| (kind, operation(tally, measured_s)))
                .collect(),
            transactions: MeasuredTransactions {
                retries: tallies.map(|tally| tally.retries).sum(),
                ..transactions.unwrap_or_default()
            },
            sources: self
                .sources
                .get(&number)
                .map(|sources| share_of(phase, *sources)),
            left: self.left.get(&number).copied().unwrap_or(0),
            resources: resources
                .map(|(&(_, class), usage)| (class, resource(scene, class, usage, measured_s)))
                .collect(),
        }
    }
}

/// With the number of copies that the servers sent.
fn share_of(phase: &Phase, sources: MeasuredSources) -> MeasuredSources {
    let whole = match &phase.activity {
        Activity::Data(data) => {
            let files = f64::from(data.workload.clients);
            data.workload.size_bytes as f64 * files
        }
        _ => 0.0,
    };
    MeasuredSources {
        copies_from_servers: ratio(sources.bytes_from_servers as f64, whole),
        ..sources
    }
}

const MIB: f64 = (1 << 20) as f64;

fn operation(tally: &OperationTally, measured_s: f64) -> MeasuredOperation {
    let latencies = &tally.latency_ns;
    let count = latencies.len();
    let quantile_us = |quantile| latencies.value_at_quantile(quantile) as f64 / 1e3;
    MeasuredOperation {
        count,
        errors: tally
            .errors
            .iter()
            .map(|(errno, &count)| (errno.name().to_string(), count))
            .collect(),
        per_s: ratio(count as f64, measured_s),
        mib_per_s: ratio(tally.bytes as f64 / MIB, measured_s),
        mean_us: ratio(tally.total_ns as f64 / 1e3, count as f64),
        p50_us: quantile_us(0.5),
        p99_us: quantile_us(0.99),
        max_us: latencies.max() as f64 / 1e3,
    }
}

fn resource(scene: &Scene, class: ResourceClass, usage: &Use, measured_s: f64) -> MeasuredResource {
    let hosts = (0..scene.conductor().0).map(ProcessId);
    let units: u64 = hosts.map(|id| units_at(scene, id, class)).sum();
    let uses = usage.all.uses as f64;
    let limited = if units > 0 { 1.0 } else { 0.0 };
    MeasuredResource {
        units,
        uses: usage.all.uses,
        uses_per_s: ratio(uses, measured_s),
        service_us: ratio(usage.all.service_ns as f64 / 1e3, uses),
        wait_us: ratio(usage.all.wait_ns as f64 / 1e3, uses),
        utilisation: ratio(usage.all.busy_ns as f64 / 1e9, measured_s * units as f64),
        utilisation_max: limited * ratio(usage.busiest_ns as f64 / 1e9, measured_s),
        queue_mean: ratio(usage.all.queued_ns as f64 / 1e9, measured_s),
    }
}

fn ratio(over: f64, under: f64) -> f64 {
    if under > 0.0 { over / under } else { 0.0 }
}

/// How many resources of a class a process has.
fn units_at(scene: &Scene, id: ProcessId, class: ResourceClass) -> u64 {
    let Some(host) = scene.setup.hosts.get(id.index()) else {
        return u64::from(class == ResourceClass::SharedLink);
    };
    let serves = host.servers > 0;
    let servers = u64::from(host.servers);
    match class {
        ResourceClass::ClientNicSend | ResourceClass::ClientNicReceive => u64::from(!serves),
        ResourceClass::ServerNicSend | ResourceClass::ServerNicReceive => u64::from(serves),
        ResourceClass::ClientCpu if !serves => u64::from(host.cores),
        ResourceClass::ServerCpu if serves => u64::from(host.cores),
        ResourceClass::Memory => u64::from(host.memory_bytes_per_s.is_some()),
        ResourceClass::Client => u64::from(host.clients),
        ResourceClass::Server => servers,
        ResourceClass::Store => servers * store_places(scene),
        ResourceClass::ClientCpu | ResourceClass::ServerCpu | ResourceClass::SharedLink => 0,
    }
}

/// How many batches a server's store, or its disk, takes at once; none if that is not limited.
fn store_places(scene: &Scene) -> u64 {
    match scene.setup.disk {
        Some(_) => 1,
        None => u64::from(scene.setup.store.concurrency.unwrap_or(0)),
    }
}
