//! The results of a study, point by point, in the form in which they are stored and printed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The result of one point: one combination of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// The parameters, by the keys of the scenario file.
    pub parameters: BTreeMap<String, Value>,
    /// Successful operations per second, by operation.
    pub throughput: BTreeMap<String, f64>,
    /// File data that the operations moved, in MiB/s, by operation; operations without data are
    /// absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bandwidth_mib_per_s: BTreeMap<String, f64>,
    /// The latencies of operations.
    pub latency_us: BTreeMap<String, LatencySummary>,
    /// The throughput bound of the busiest resource, in the phase that comes closest to it.
    pub bound: Bound,
    /// Busy time of the busiest resource of every class over all time; the highest of all phases.
    pub utilisation: BTreeMap<String, f64>,
    /// The results of each phase.
    pub phases: Vec<PhaseResult>,
    /// Committed events.
    pub events_committed: u64,
    /// Events per second of wall-clock time.
    pub events_per_s: f64,
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// The peak memory of the process until then, in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// A digest of every event: equal for all executors.
    pub digest: String,
}

/// A summary of latencies, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The mean.
    pub mean: f64,
}

/// The bound that a resource sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The resource: a class of the machine, or `clients` if they ask for no more.
    pub resource: String,
    /// File data in MiB/s, by operation; operations without data are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bandwidth_mib_per_s: BTreeMap<String, f64>,
    /// Operations per second, by operation.
    #[serde(flatten)]
    pub per_s: BTreeMap<String, f64>,
}

/// The result of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Its name.
    pub name: String,
    /// The measured time, in seconds of the simulation.
    pub measured_s: f64,
    /// The operations.
    pub operations: BTreeMap<String, OperationResult>,
    /// The results of transactions: changes on several servers.
    #[serde(default)]
    pub transactions: TransactionResult,
    /// Where data came from that all clients read; absent for other phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<SourceResult>,
    /// The operations that had arrived and had not begun when the measured part ended. Only open
    /// arrivals, which do not wait for earlier operations, have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// The classes of resources.
    pub resources: BTreeMap<String, ResourceResult>,
    /// The bound that the busiest resource sets.
    pub bound: Bound,
}

/// The results of one kind of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationResult {
    /// Successful operations.
    pub count: u64,
    /// Failed operations, by error.
    pub errors: BTreeMap<String, u64>,
    /// Successful operations per second.
    pub per_s: f64,
    /// File data that the operations moved, in MiB/s; 0 for operations without data.
    #[serde(default)]
    pub mib_per_s: f64,
    /// The latencies.
    pub latency_us: LatencySummary,
}

/// The results of transactions: changes on several servers. A change on one server is no
/// transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionResult {
    /// Transactions begun.
    pub begun: u64,
    /// Transactions committed.
    pub committed: u64,
    /// Transactions aborted.
    pub aborted: u64,
    /// How often a request waited because a transaction had reserved a record.
    pub conflicts: u64,
    /// Failed attempts at operations of any kind that were retried.
    pub retries: u64,
    /// Committed transactions per second.
    pub committed_per_s: f64,
    /// Aborted transactions per second.
    pub aborted_per_s: f64,
    /// Conflicts per completed operation.
    pub conflicts_per_operation: f64,
    /// Retries per completed operation.
    pub retries_per_operation: f64,
}

/// Where data came from that all clients read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceResult {
    /// From servers, in bytes.
    pub bytes_from_servers: u64,
    /// From the caches of other clients, in bytes.
    pub bytes_from_clients: u64,
    /// How often the servers sent the whole data.
    pub copies_from_servers: f64,
}

/// The use of the resources of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceResult {
    /// The number of resources; 0 if unlimited.
    pub units: u64,
    /// Uses per second, of all resources.
    pub uses_per_s: f64,
    /// Mean service time of a use, in microseconds.
    pub service_us: f64,
    /// Mean waiting time before a use, in microseconds.
    pub wait_us: f64,
    /// Busy time of all resources over all time.
    pub utilisation: f64,
    /// Busy time of the busiest resource over all time.
    pub utilisation_max: f64,
    /// Mean queue length, of all resources together.
    pub queue_mean: f64,
}

/// The name of the clients in results with open arrivals.
const CLIENT: &str = "client";

/// A resource with at least this utilisation counts as saturated.
pub const SATURATED: f64 = 0.95;

impl PhaseResult {
    /// Computes the bound of the busiest resource, and the highest demand of the clients.
    ///
    /// Throughput over utilisation is the service rate of a resource that is always busy. A cycle
    /// of clients that never wait is their cycle less the waiting. By Little's law the cycle is
    /// clients over throughput (Denning and Buzen, *The operational analysis of queueing network
    /// models*, 1978). Clients with open arrivals are a resource themselves.
    pub fn find_bound(&mut self, clients: u32) {
        let throughput: f64 = self
            .operations
            .values()
            .map(|operation| operation.per_s)
            .sum();
        let open = self.resources.get(CLIENT);
        let limited = self.resources.iter();
        let limited = limited.filter(|(name, r)| r.units > 0 && *name != CLIENT);
        let busiest = limited.max_by(|a, b| a.1.utilisation_max.total_cmp(&b.1.utilisation_max));
        let of_resource = busiest.map_or(f64::INFINITY, |(_, r)| 1.0 / r.utilisation_max);
        let cycle_us = f64::from(clients) / throughput * 1e6;
        let waits = self.resources.values().map(|r| r.uses_per_s * r.wait_us);
        let idle_us = cycle_us - waits.sum::<f64>() / throughput;
        let of_clients = match open {
            Some(client) => 1.0 / client.utilisation_max,
            None if idle_us > 0.0 => cycle_us / idle_us,
            None => f64::INFINITY,
        };
        let room = of_resource.min(of_clients).max(1.0);
        if !room.is_finite() {
            return;
        }
        let name = busiest.map_or("", |(name, _)| name.as_str());
        let resource = match open {
            // Clients are also busy while they wait for a saturated resource.
            Some(_) if of_resource > of_clients.max(1.0 / SATURATED) => CLIENT,
            None if of_resource > of_clients => "clients",
            _ => name,
        };
        let per_s = self.operations.iter();
        self.bound = Bound {
            resource: resource.to_owned(),
            bandwidth_mib_per_s: of_data(&self.operations)
                .map(|(name, mib_per_s)| (name.clone(), mib_per_s * room))
                .collect(),
            per_s: per_s
                .map(|(name, o)| (name.clone(), o.per_s * room))
                .collect(),
        };
    }
}

/// The operations that move file data, with their rates.
fn of_data(operations: &BTreeMap<String, OperationResult>) -> impl Iterator<Item = (&String, f64)> {
    let with_data = operations.iter().map(|(name, o)| (name, o.mib_per_s));
    with_data.filter(|(_, mib_per_s)| *mib_per_s > 0.0)
}

impl PointResult {
    /// Collects the operations and resources of all phases. An operation of several phases is named
    /// with its phase.
    pub fn collect(parameters: BTreeMap<String, Value>, phases: Vec<PhaseResult>) -> Self {
        let mut point = Self {
            parameters,
            throughput: BTreeMap::new(),
            bandwidth_mib_per_s: BTreeMap::new(),
            latency_us: BTreeMap::new(),
            bound: Bound::default(),
            utilisation: BTreeMap::new(),
            phases: Vec::new(),
            events_committed: 0,
            events_per_s: 0.0,
            wall_s: 0.0,
            peak_rss_bytes: None,
            digest: String::new(),
        };
        for phase in &phases {
            for (operation, result) in &phase.operations {
                let others = phases
                    .iter()
                    .filter(|p| p.operations.contains_key(operation));
                let name = match others.count() {
                    1 => operation.clone(),
                    _ => format!("{}/{operation}", phase.name),
                };
                let bound = phase.bound.per_s.get(operation);
                point
                    .bound
                    .per_s
                    .extend(bound.map(|per_s| (name.clone(), *per_s)));
                let bound = phase.bound.bandwidth_mib_per_s.get(operation);
                let bounds = &mut point.bound.bandwidth_mib_per_s;
                bounds.extend(bound.map(|mib_per_s| (name.clone(), *mib_per_s)));
                if result.mib_per_s > 0.0 {
                    let bandwidth = &mut point.bandwidth_mib_per_s;
                    bandwidth.insert(name.clone(), result.mib_per_s);
                }
                point.throughput.insert(name.clone(), result.per_s);
                point.latency_us.insert(name, result.latency_us);
            }
            for (class, result) in &phase.resources {
                let most = point.utilisation.entry(class.clone()).or_default();
                *most = most.max(result.utilisation_max);
            }
        }
        let room = |phase: &&PhaseResult| {
            let of = |(name, bound): (&String, &f64)| bound / phase.operations[name].per_s;
            phase
                .bound
                .per_s
                .iter()
                .map(of)
                .fold(f64::INFINITY, f64::min)
        };
        let closest = phases.iter().min_by(|a, b| room(a).total_cmp(&room(b)));
        point.bound.resource = closest.map_or(String::new(), |p| p.bound.resource.clone());
        point.phases = phases;
        point
    }

    /// A value of the result by its name, such as `throughput.create` or `latency_us.stat.p99`.
    /// Parts of lists are numbered, as in `phases.0.measured_s`. A parameter is named by its key.
    pub fn figure(&self, name: &str) -> Option<f64> {
        if let Some(parameter) = self.parameters.get(name) {
            return parameter.as_f64();
        }
        let json = serde_json::to_value(self).ok()?;
        let found = name.split('.').try_fold(&json, |at, part| match at {
            Value::Array(parts) => parts.get(part.parse::<usize>().ok()?),
            _ => at.get(part),
        })?;
        found.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, per_s: f64, resources: &[(&str, f64, f64)]) -> PhaseResult {
        let latency_us = LatencySummary {
            p50: 1.0,
            p99: 2.0,
            mean: 1.0,
        };
        let operation = OperationResult {
            count: 10,
            errors: BTreeMap::new(),
            per_s,
            mib_per_s: 0.0,
            latency_us,
        };
        let resource = |utilisation_max, wait_us| ResourceResult {
            units: 1,
            uses_per_s: per_s,
            utilisation_max,
            wait_us,
            ..ResourceResult::default()
        };
        let resources = resources.iter();
        let mut phase = PhaseResult {
            name: name.to_owned(),
            measured_s: 1.0,
            operations: BTreeMap::from([("create".to_owned(), operation)]),
            resources: resources
                .map(|(name, busy, wait)| ((*name).to_owned(), resource(*busy, *wait)))
                .collect(),
            transactions: TransactionResult::default(),
            sources: None,
            left: None,
            bound: Bound::default(),
        };
        phase.find_bound(10);
        phase
    }

    #[test]
    fn a_busy_resource_allows_what_it_serves_when_it_is_always_busy() {
        let phase = phase("p", 900.0, &[("nic", 0.9, 5_000.0), ("cpu", 0.3, 0.0)]);
        assert_eq!(phase.bound.resource, "nic");
        assert!((phase.bound.per_s["create"] - 1000.0).abs() < 1e-6);
    }

    /// Ten clients at 500 operations/s have a cycle of 20 ms; without 1 ms of waiting they reach
    /// 526/s.
    #[test]
    fn clients_that_hardly_wait_are_the_bound_themselves() {
        let phase = phase("p", 500.0, &[("nic", 0.5, 1_000.0)]);
        assert_eq!(phase.bound.resource, "clients");
        assert!((phase.bound.per_s["create"] - 500.0 * 20.0 / 19.0).abs() < 1e-6);
    }

    /// They are also busy while they wait for another saturated resource.
    #[test]
    fn clients_at_which_operations_arrive_are_a_resource() {
        let bound = |nic: f64| {
            let resources = [("client", 1.0, 9_000.0), ("nic", nic, 0.0)];
            phase("p", 900.0, &resources).bound.resource
        };
        assert_eq!(bound(0.5), "client");
        assert_eq!(bound(0.99), "nic");
    }

    #[test]
    fn operations_of_several_phases_carry_their_names() {
        let both = vec![
            phase("cold", 900.0, &[("nic", 0.9, 5_000.0)]),
            phase("warm", 500.0, &[("nic", 0.5, 1_000.0)]),
        ];
        let point = PointResult::collect(BTreeMap::from([("seed".into(), 3.into())]), both);
        assert_eq!(point.figure("throughput.cold/create"), Some(900.0));
        assert_eq!(point.figure("latency_us.warm/create.p99"), Some(2.0));
        assert_eq!(point.figure("seed"), Some(3.0));
        assert_eq!(point.figure("throughput.create"), None);
        assert_eq!(
            point.figure("phases.1.operations.create.per_s"),
            Some(500.0)
        );
        assert_eq!(point.figure("phases.2.measured_s"), None);
        assert_eq!(point.utilisation["nic"], 0.9);
        assert_eq!(point.bound.resource, "clients");
    }

    #[test]
    fn a_bound_is_one_object_of_operations_and_the_resource() {
        let point = PointResult::collect(
            BTreeMap::new(),
            vec![phase("p", 1000.0, &[("nic", 1.0, 9_000.0)])],
        );
        let json = serde_json::to_value(&point.bound).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"create": 1000.0, "resource": "nic"})
        );
        assert_eq!(serde_json::from_value::<Bound>(json).unwrap(), point.bound);
    }
}
