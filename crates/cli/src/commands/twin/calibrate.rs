//! `futago twin calibrate`: measures this host through the real code, with one server and one
//! client, and writes a machine file.

use crate::{
    exit::Exit,
    output,
    simulation::{VERSION, real},
};
use anyhow::Context;
use clap::Args;
use futago_twin::scenario::Scenario;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fmt::Write,
    path::{Path, PathBuf},
};

/// Arguments of `twin calibrate`.
#[derive(Args)]
pub struct Calibrate {
    /// Where to write the machine file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How often everything is measured; the file holds medians.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// Print what was measured as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Every operation by itself, one client and one server, in a directory of the client's own.
const SCENARIO: &str = "
cluster = { servers = 1, clients = 1 }
machine.preset = 'workstation'
workload.phases = [
  { mix = { create = 1 }, operations = 500 },
  { mix = { stat = 1 }, operations = 500 },
  { mix = { lookup = 1 }, operations = 500 },
  { mix = { read-directory = 1 }, operations = 25 },
  { mix = { rename = 1 }, operations = 250 },
  { mix = { unlink = 1 }, operations = 500 },
  { mix = { make-directory = 1 }, operations = 250 },
  { mix = { remove-directory = 1 }, operations = 250 },
  { data = { operation = 'write', size = '2MiB', transfer = '4KiB' } },
  { data = { operation = 'read', size = '2MiB', transfer = '4KiB' } },
  { name = 'write-large', data = { operation = 'write', size = '64MiB', transfer = '1MiB' } },
  { name = 'read-large', data = { operation = 'read', size = '64MiB', transfer = '1MiB' } },
]";

/// What a byte of file data costs is the difference between transfers of these sizes.
const TRANSFER_BYTES: [f64; 2] = [4096.0, 1_048_576.0];

/// Something that was measured several times.
#[derive(Clone, Debug, Default, Serialize)]
struct Spread {
    /// The median.
    median: f64,
    /// The lowest.
    least: f64,
    /// The highest.
    most: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
        Self {
            median: at(values.len() / 2),
            least: at(0),
            most: at(values.len().saturating_sub(1)),
        }
    }
}

/// What one operation costs.
#[derive(Clone, Debug, Serialize)]
struct OperationCost {
    /// The request that it sends most of.
    request: String,
    /// Requests an operation.
    requests: f64,
    /// Processor time of the server for each request, its messages included, in nanoseconds.
    server_ns: Spread,
    /// Processor time of the client an operation, in nanoseconds.
    client_ns: Spread,
    /// What is neither, a round trip: waking and the kernel's queues, in nanoseconds.
    idle_ns: Spread,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    machine: PathBuf,
    machine_hash: String,
    cores: usize,
    operations: BTreeMap<String, OperationCost>,
}

impl Calibrate {
    /// Measures and writes.
    pub fn run(self) -> anyhow::Result<Exit> {
        let operations = measure(self.rounds)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let text = machine(&operations, cores);
        std::fs::write(&self.out, &text)
            .with_context(|| format!("cannot write the machine {}", self.out.display()))?;
        let report = Report {
            version: VERSION,
            machine_hash: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes())),
            machine: self.out,
            cores,
            operations,
        };
        output::print(self.json, &report, |report| {
            format!(
                "{text}\n{}: {}\n",
                report.machine.display(),
                report.machine_hash
            )
        })?;
        Ok(Exit::Success)
    }
}

/// One round's figures of one operation.
struct Sample {
    request: String,
    requests: f64,
    server_ns: f64,
    client_ns: f64,
    idle_ns: f64,
}

fn measure(rounds: u32) -> anyhow::Result<BTreeMap<String, OperationCost>> {
    let scenario = Scenario::parse("calibration", SCENARIO, Path::new("."), &[])?;
    let points = scenario.points()?;
    let point = points.first().context("the calibration has no point")?;
    let bar = output::progress(u64::from(rounds), "rounds");
    let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    for _ in 0..rounds {
        for phase in real::run(&point.body, &point.setup)? {
            let name = phase.result.name.clone();
            samples.entry(name).or_default().extend(sample(&phase));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(samples
        .into_iter()
        .map(|(name, samples)| (name, cost(&samples)))
        .collect())
}

fn sample(phase: &real::RealPhase) -> Option<Sample> {
    // Each phase is about one operation.
    let operation = phase.result.operations.values().next()?;
    let (request, _) = phase.requests.iter().max_by_key(|(_, count)| **count)?;
    let all: u64 = phase.requests.values().sum();
    let count = operation.count.max(1) as f64;
    let server_ns = phase.server_cpu_us as f64 * 1e3 / count;
    let client_ns = phase.client_cpu_us as f64 * 1e3 / count;
    let requests = all as f64 / count;
    let trips = requests.max(1.0);
    Some(Sample {
        request: request.clone(),
        requests,
        server_ns: server_ns / trips,
        client_ns,
        // The median: on a busy host single operations wait for other programs.
        idle_ns: (operation.latency_us.p50 * 1e3 - server_ns - client_ns).max(0.0) / trips,
    })
}

fn cost(samples: &[Sample]) -> OperationCost {
    let spread = |figure: fn(&Sample) -> f64| Spread::of(samples.iter().map(figure).collect());
    OperationCost {
        request: samples
            .first()
            .map_or(String::new(), |sample| sample.request.clone()),
        requests: spread(|sample| sample.requests).median,
        server_ns: spread(|sample| sample.server_ns),
        client_ns: spread(|sample| sample.client_ns),
        idle_ns: spread(|sample| sample.idle_ns),
    }
}

/// What a byte of data costs a server or client, by the difference between large and small transfers,
/// in nanoseconds.
fn byte_ns(
    operations: &BTreeMap<String, OperationCost>,
    small: &str,
    operation_ns: fn(&OperationCost) -> f64,
) -> f64 {
    let large = format!("{small}-large");
    let (Some(small), Some(large)) = (operations.get(small), operations.get(&large)) else {
        return 0.0;
    };
    let [few, many] = TRANSFER_BYTES;
    ((operation_ns(large) - operation_ns(small)) / (many - few)).max(0.0)
}

/// The costs of both sides' bytes.
fn data_costs(operations: &BTreeMap<String, OperationCost>) -> [String; 2] {
    let server = |cost: &OperationCost| cost.server_ns.median * cost.requests.max(1.0);
    let client = |cost: &OperationCost| cost.client_ns.median;
    let both = |received: f64, sent: f64| {
        format!("byte_received_ns = {received:.4}\nbyte_sent_ns = {sent:.4}\n")
    };
    let of = |small, operation_ns| byte_ns(operations, small, operation_ns);
    [
        both(of("write", server), of("read", server)),
        both(of("read", client), of("write", client)),
    ]
}

/// The machine file. Every figure has its spread beside it.
fn machine(operations: &BTreeMap<String, OperationCost>, cores: usize) -> String {
    let [server_bytes, client_bytes] = data_costs(operations);
    let mut operations = operations.clone();
    operations.retain(|name, _| !name.ends_with("-large"));
    let median = |figure: fn(&OperationCost) -> &Spread| {
        Spread::of(
            operations
                .values()
                .map(|cost| figure(cost).median)
                .collect(),
        )
    };
    let (server, client) = (
        median(|cost| &cost.server_ns),
        median(|cost| &cost.client_ns),
    );
    let idle = median(|cost| &cost.idle_ns);
    let mut text = format!(
        "description = \"This host, measured by {VERSION} with one server and one client\"\n\n\
         # Clients and servers are processes of one host and share its cores.\n\
         [servers]\nprocesses = 4096\ncores = {cores}\nnic = {{ bandwidth_mb_per_s = 10_000 }}\n\n\
         # A round trip takes {:.0} ns ({:.0} to {:.0}) beside processor time: a half to wake the\n\
         # server, and the other half there and back.\n\
         [network]\nlocal_ns = {:.0}\npacket_bytes = 65_536\n\n\
         [costs]\nwake_up_ns = {:.0}\n\n\
         # {:.0} to {:.0} by operation.\n\
         [costs.client]\noperation_ns = {:.0}\ninput_ns = {:.0}\n{client_bytes}\n\
         [costs.server]\ninput_ns = {:.0}\n{server_bytes}\n\
         # Messages included; least and most of all rounds.\n\
         [costs.server.request_ns]\n",
        idle.median,
        idle.least,
        idle.most,
        idle.median / 4.0,
        idle.median / 2.0,
        client.least,
        client.most,
        client.median / 2.0,
        client.median / 2.0,
        server.median,
    );
    let mut written = BTreeMap::new();
    for cost in operations.values() {
        written.entry(&cost.request).or_insert(&cost.server_ns);
    }
    for (request, spread) in written {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{request} = {:.0} # {:.0} to {:.0}",
            spread.median, spread.least, spread.most
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_twin::machine::Machine;

    fn cost_of(request: &str, server_ns: f64) -> OperationCost {
        let spread = |median| Spread::of(vec![median - 1.0, median, median + 2.0]);
        OperationCost {
            request: request.to_owned(),
            requests: 1.0,
            server_ns: spread(server_ns),
            client_ns: spread(8000.0),
            idle_ns: spread(40_000.0),
        }
    }

    #[test]
    fn the_file_is_a_machine_with_what_was_measured() {
        let operations = BTreeMap::from([
            ("create".to_owned(), cost_of("create", 5000.0)),
            ("stat".to_owned(), cost_of("lookup", 3000.0)),
            ("write".to_owned(), cost_of("write", 4000.0)),
            (
                "write-large".to_owned(),
                cost_of("write_chunk", 4000.0 + 0.5 * (1_048_576.0 - 4096.0)),
            ),
        ]);
        let text = machine(&operations, 2);
        let machine = Machine::parse("machine.toml", &text).unwrap();
        assert_eq!(machine.servers.cores, 2);
        assert_eq!(machine.costs.wake_up_ns, 20_000);
        assert_eq!(machine.network.local_ns, 10_000);
        assert_eq!(machine.costs.client.operation_ns, 4000.0);
        assert_eq!(machine.costs.server.request_ns["lookup"], 3000.0);
        assert_eq!(machine.costs.server.request_ns["create"], 5000.0);
        assert_eq!(machine.costs.server.byte_received_ns, 0.5);
        assert_eq!(machine.costs.server.byte_sent_ns, 0.0);
        assert!(!machine.costs.server.request_ns.contains_key("write_chunk"));
        assert!(text.contains("create = 5000 # 4999 to 5002"), "{text}");
        assert!(machine.lay_out(4, 4).is_ok());
    }

    #[test]
    fn the_scenario_of_the_calibration_is_one_point() {
        let scenario = Scenario::parse("calibration", SCENARIO, Path::new("."), &[]).unwrap();
        assert_eq!(scenario.points().unwrap().len(), 1);
    }
}
