//! The results of a phase of a benchmark.

use data_encoding::BASE64;
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2Serializer},
};
use serde::{Deserialize, Serialize};

/// The latencies of operations: to three digits, up to an hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Latencies(Histogram<u64>);

const LONGEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

impl Default for Latencies {
    fn default() -> Self {
        let bounded = Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS);
        Self(bounded.expect("the bounds are constants that a histogram accepts"))
    }
}

impl Latencies {
    /// Adds an operation.
    pub fn record(&mut self, latency_ns: u64) {
        self.0.saturating_record(latency_ns);
    }

    /// Adds the operations of another client.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so no value is outside.
        let merged = self.0.add(&other.0);
        debug_assert!(merged.is_ok());
    }

    /// The number of operations.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency at the fraction `quantile` of the operations, in microseconds.
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1000.0
    }
}

impl From<Latencies> for String {
    fn from(latencies: Latencies) -> Self {
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let written = V2Serializer::new().serialize(&latencies.0, &mut bytes);
        debug_assert!(written.is_ok());
        BASE64.encode(&bytes)
    }
}

/// A text that is no histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the encoding of a latency histogram")]
pub struct LatenciesError;

impl TryFrom<String> for Latencies {
    type Error = LatenciesError;

    fn try_from(text: String) -> Result<Self, LatenciesError> {
        let bytes = BASE64.decode(text.as_bytes()).map_err(|_| LatenciesError)?;
        let histogram = Deserializer::new().deserialize(&mut &bytes[..]);
        let mut latencies = Self::default();
        let added = latencies.0.add(&histogram.map_err(|_| LatenciesError)?);
        added.map(|()| latencies).map_err(|_| LatenciesError)
    }
}

/// The results of one client in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientPhase {
    /// The start, by a clock that all clients of the run share.
    pub started_ns: u64,
    /// The end of the last operation, with files closed and data flushed.
    pub ended_ns: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// CPU time of the process of the client.
    pub cpu_us: u64,
    /// The operations.
    pub latencies: Latencies,
    /// Files that a search found.
    pub found: u64,
}

/// The results of all servers together in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerPhase {
    /// Requests that they received.
    pub requests: u64,
    /// Their CPU time.
    pub cpu_us: u64,
    /// Their busy time, without unsuccessful polls.
    pub busy_us: u64,
}

/// The result of a phase, over all clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseReport {
    /// The name of the phase.
    pub name: String,
    /// Number of operations.
    pub ops: u64,
    /// The time from the start of the first client to the end of the last one.
    pub seconds: f64,
    /// Operations a second.
    pub ops_per_s: f64,
    /// Data rate.
    pub mib_per_s: f64,
    /// The median latency.
    pub p50_us: f64,
    /// The 99th percentile of the latency.
    pub p99_us: f64,
    /// Requests that the servers received; absent without a cluster.
    pub server_requests: Option<u64>,
    /// CPU time of the client processes per operation.
    pub client_cpu_us_per_op: f64,
    /// CPU time of the servers per operation; absent without a cluster.
    pub server_cpu_us_per_op: Option<f64>,
    /// Busy time of the servers per operation; absent without a cluster.
    pub server_busy_us_per_op: Option<f64>,
}

impl PhaseReport {
    /// Summarizes a phase.
    pub fn new(name: &str, clients: &[ClientPhase], servers: Option<ServerPhase>) -> Self {
        let started_ns = clients.iter().map(|c| c.started_ns).min().unwrap_or(0);
        let ended_ns = clients.iter().map(|c| c.ended_ns).max().unwrap_or(0);
        let seconds = ended_ns.saturating_sub(started_ns).max(1) as f64 / 1e9;
        let bytes: u64 = clients.iter().map(|c| c.bytes).sum();
        let client_cpu_us: u64 = clients.iter().map(|c| c.cpu_us).sum();
        let mut latencies = Latencies::default();
        for client in clients {
            latencies.merge(&client.latencies);
        }
        let ops = latencies.count();
        let per_op = |total_us: u64| total_us as f64 / ops.max(1) as f64;
        Self {
            name: name.to_owned(),
            ops,
            seconds,
            ops_per_s: ops as f64 / seconds,
            mib_per_s: bytes as f64 / f64::from(1 << 20) / seconds,
            p50_us: latencies.quantile_us(0.5),
            p99_us: latencies.quantile_us(0.99),
            server_requests: servers.map(|s| s.requests),
            client_cpu_us_per_op: per_op(client_cpu_us),
            server_cpu_us_per_op: servers.map(|s| per_op(s.cpu_us)),
            server_busy_us_per_op: servers.map(|s| per_op(s.busy_us)),
        }
    }
}

/// The round of a phase with the median rate; for an even number, the lower of the two in the
/// middle.
pub fn median_round(rounds: &[PhaseReport]) -> Option<&PhaseReport> {
    let mut by_rate: Vec<_> = rounds.iter().collect();
    by_rate.sort_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s));
    by_rate.get(by_rate.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(started_ns: u64, ended_ns: u64, latency_ns: u64) -> ClientPhase {
        let mut latencies = Latencies::default();
        latencies.record(latency_ns);
        latencies.record(latency_ns);
        ClientPhase {
            started_ns,
            ended_ns,
            bytes: 1 << 20,
            cpu_us: 10,
            latencies,
            found: 0,
        }
    }

    #[test]
    fn a_phase_lasts_from_the_first_start_to_the_last_end() {
        let clients = [
            client(0, 1_500_000_000, 1000),
            client(500_000_000, 2_000_000_000, 9000),
        ];
        let servers = ServerPhase {
            requests: 5,
            cpu_us: 8,
            busy_us: 6,
        };
        let report = PhaseReport::new("create", &clients, Some(servers));
        assert_eq!(report.ops, 4);
        assert_eq!(report.seconds, 2.0);
        assert_eq!(report.ops_per_s, 2.0);
        assert_eq!(report.mib_per_s, 1.0);
        assert!((0.9..1.1).contains(&report.p50_us), "{}", report.p50_us);
        assert!((8.9..9.1).contains(&report.p99_us), "{}", report.p99_us);
        assert_eq!(report.client_cpu_us_per_op, 5.0);
        assert_eq!(report.server_cpu_us_per_op, Some(2.0));
        assert_eq!(report.server_busy_us_per_op, Some(1.5));
        assert_eq!(report.server_requests, Some(5));
    }

    #[test]
    fn of_several_rounds_the_median_one_counts() {
        let took = |ended_ns| PhaseReport::new("stat", &[client(0, ended_ns, 1000)], None);
        let rounds = [took(4_000_000), took(1_000_000), took(2_000_000)];
        assert_eq!(median_round(&rounds), Some(&rounds[2]));
        assert_eq!(median_round(&rounds[..2]), Some(&rounds[0]));
        assert_eq!(median_round(&[]), None);
    }

    #[test]
    fn latencies_travel_as_text() {
        let mut latencies = Latencies::default();
        for latency_ns in [5, 70_000, u64::MAX] {
            latencies.record(latency_ns);
        }
        let text = String::from(latencies.clone());
        assert_eq!(Latencies::try_from(text), Ok(latencies));
        for hostile in ["", "!", "AAAA"] {
            assert_eq!(Latencies::try_from(hostile.to_owned()), Err(LatenciesError));
        }
    }
}
