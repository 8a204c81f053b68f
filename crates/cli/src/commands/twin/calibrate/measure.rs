//! The measurements: every operation by itself, with one server and one client.

use super::{disk::Disk, memory, recovery, wake_up::wake_up_ns};
use crate::{
    commands::twin::spread::Spread,
    simulation::{
        local_cluster::Way,
        real,
        surroundings::{Surroundings, Usual},
    },
};
use anyhow::{Context, ensure};
use futago_node::cores::OnOneCore;
use futago_twin::scenario::{Point, Scenario};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Every operation by itself, in a directory of the client's own.
///
/// Other processes share the cores for tenths of seconds and leave them alone for hundredths. So
/// phases are short and repeated, and enough of them run on unshared cores. While a client thinks
/// for 30 us the server polls; while it thinks for 8 ms the server blocks. After such a wait the
/// server blocks at once for a while, which is over before the next phase that counts. The host
/// hands out memory when it is touched first, which takes 5 ms for a large page on a virtual
/// machine; only the first phases of a kind pay that.
const OPERATIONS: &str = "
cluster = { servers = 1, clients = 1, bind_to_core = true }
machine.preset = 'workstation'
workload.phases = [
  { name = 'first-files', mix = { create = 1 }, operations = 400 },
  { name = 'list-few', mix = { read-directory = 1 }, operations = 100, repeat = 8 },
  { name = 'create', mix = { create = 1 }, operations = 900, repeat = 4 },
  { name = 'list-many', mix = { read-directory = 1 }, operations = 20, repeat = 16 },
  { name = 'stat', mix = { stat = 1 }, operations = 1_000, repeat = 8 },
  { name = 'stat-after-idle', mix = { stat = 1 }, think = { constant_ns = 30_000 }, operations = 250, repeat = 8 },
  { name = 'stat-after-sleep', mix = { stat = 1 }, think = { constant_ns = 8_000_000 }, operations = 70 },
  { name = 'awake-again', mix = { stat = 1 }, operations = 500 },
  { name = 'unlink', mix = { unlink = 1 }, operations = 750, repeat = 4 },
  { name = 'rename', mix = { rename = 1 }, operations = 500, repeat = 4 },
  { name = 'more-files', mix = { create = 1 }, operations = 15_000 },
  { name = 'list-more', mix = { read-directory = 1 }, operations = 10, repeat = 16 },
  { name = 'make-directory', mix = { make-directory = 1 }, operations = 500, repeat = 2 },
  { name = 'fill', data = { operation = 'write', size = '8MiB', transfer = '4KiB' } },
  { name = 'fill-first', data = { operation = 'write', size = '1MiB', transfer = '4KiB' } },
  { name = 'write-first', data = { operation = 'write', size = '1MiB', transfer = '4KiB' }, operations = 1_024, repeat = 8 },
  { name = 'read-first', data = { operation = 'read', size = '1MiB', transfer = '4KiB' }, warm_up_ms = 4, measured_ms = 10, repeat = 8 },
  { name = 'write-small', data = { operation = 'write', size = '8MiB', transfer = '4KiB' }, operations = 2_048, repeat = 4 },
  { name = 'read-small', data = { operation = 'read', size = '8MiB', transfer = '4KiB' }, warm_up_ms = 20, measured_ms = 15, repeat = 6 },
]";

/// Phases with several operations at once, or with both sides on one core.
const LOOKING_UP: &str = "
cluster = { servers = 1, clients = 1, bind_to_core = true }
machine.preset = 'workstation'
workload.phases = [
  { name = 'create', mix = { create = 1 }, operations = 2_000 },
  { name = 'stat', mix = { stat = 1 }, operations = 1_000, repeat = 8 },
]";

/// Phases that measure small messages where they cost more than usual. Names are those of
/// [`OPERATIONS`].
const SMALL_MESSAGES: &str = "
cluster = { servers = 1, clients = 1, bind_to_core = true }
machine.preset = 'workstation'
workload.phases = [
  { name = 'create', mix = { create = 1 }, operations = 1_000 },
  { name = 'stat', mix = { stat = 1 }, operations = 2_000 },
  { name = 'fill', data = { operation = 'write', size = '1MiB', transfer = '4KiB' } },
  { name = 'write-first', data = { operation = 'write', size = '1MiB', transfer = '4KiB' }, operations = 512 },
  { name = 'read-first', data = { operation = 'read', size = '1MiB', transfer = '4KiB' }, operations = 512 },
]";

/// Phases that measure large messages, with a server that holds `mib` MiB and nothing else. The
/// client keeps data to check it, so all data has been read once before operations count.
fn large_messages(name: &str, mib: u64) -> String {
    format!(
        "
cluster = {{ servers = 1, clients = 1, bind_to_core = true }}
machine.preset = 'workstation'
workload.phases = [
  {{ name = 'fill-{name}', data = {{ operation = 'write', size = '{mib}MiB', transfer = '1MiB' }}, operations = 256 }},
  {{ name = 'write-{name}', data = {{ operation = 'write', size = '{mib}MiB', transfer = '1MiB' }}, operations = 128, repeat = 6 }},
  {{ name = 'read-{name}', data = {{ operation = 'read', size = '{mib}MiB', transfer = '1MiB' }}, warm_up_ms = {warm_up_ms}, measured_ms = 15, repeat = 8 }},
]",
        warm_up_ms = mib / 4,
    )
}

/// Files in the directory when `list-few` and `list-many` list it.
pub const LISTED_FILES: [u64; 2] = [400, 4_000];
/// The same of `list-more`: more than a core's own cache holds the records of, several times.
pub const MANY_FILES: u64 = 16_000;
/// The data of the server for [`large_messages`], in MiB, with the names of the phases.
pub const DATA_MIB: [u64; 2] = [32, 128];
const DATA_NAMES: [&str; 2] = ["large", "much"];
/// Bytes of small and large transfers.
pub const TRANSFER_BYTES: [f64; 2] = [4096.0, 1_048_576.0];
/// How many operations are under way at once where several are.
pub const AT_ONCE: usize = 8;

/// The average costs of an operation of one phase. Over sockets nobody polls, so all CPU time
/// counts as busy.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cost {
    /// Requests, by name.
    pub requests: BTreeMap<String, f64>,
    /// How long the server is busy, in nanoseconds.
    pub server_ns: Spread,
    /// How long the client is busy, in nanoseconds.
    pub client_ns: Spread,
    /// From its beginning to that of the next one, in nanoseconds.
    pub latency_ns: Spread,
}

/// Costs by phase.
pub type Costs = BTreeMap<String, Cost>;

/// All that is measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measured {
    /// The state of the host in which phases count.
    #[serde(flatten)]
    pub usual: Usual,
    /// How many phases were measured in that state, and how many in all.
    pub like_phases: [usize; 2],
    /// Phases of [`OPERATIONS`] and of [`large_messages`], one operation at a time.
    pub alone: Costs,
    /// Phases of [`SMALL_MESSAGES`] and of the first [`large_messages`], over sockets.
    pub sockets: Costs,
    /// `stat`, [`AT_ONCE`] at a time.
    pub at_once: Cost,
    /// `stat` and the first [`large_messages`], one at a time, server and client on one core.
    pub on_one_core: Costs,
    /// From a thread's waking another one, which sleeps, until that runs, in nanoseconds.
    pub wake_up_ns: Spread,
    /// Bytes that one core copies in a second.
    pub core_bytes_per_s: Spread,
    /// Bytes that all cores together copy in a second.
    pub host_bytes_per_s: Spread,
    /// The same through many connections.
    pub host_bytes_per_s_through_many: Spread,
    /// Handing [`TRANSFER_BYTES`] to the system of the disk, in nanoseconds.
    pub handed_ns: [Spread; 2],
    /// From then until they are on the disk, in nanoseconds.
    pub disk_ns: [Spread; 2],
    /// Reading a record of the log of a server that comes back, in nanoseconds.
    pub recovered_record_ns: Spread,
}

/// The samples of one round, by phase.
type Samples = BTreeMap<String, Vec<Sample>>;

#[derive(Clone, Serialize, Deserialize)]
struct Sample {
    requests: BTreeMap<String, f64>,
    server_ns: f64,
    client_ns: f64,
    latency_ns: f64,
    surroundings: Surroundings,
}

/// The samples of all rounds so far.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Found {
    alone: Samples,
    sockets: Samples,
    at_once: Samples,
    on_one_core: Samples,
    wake_up_ns: Vec<f64>,
    bytes_per_s: [Vec<f64>; 3],
    handed_ns: [Vec<f64>; 2],
    disk_ns: [Vec<f64>; 2],
    recovered_record_ns: Vec<f64>,
}

/// The scenarios of a round.
struct Scenarios {
    operations: Point,
    looking_up: Point,
    small_messages: Point,
    large_messages: [Point; 2],
}

impl Scenarios {
    fn new() -> anyhow::Result<Self> {
        let [some, much] = [0, 1].map(|index| large_messages(DATA_NAMES[index], DATA_MIB[index]));
        Ok(Self {
            operations: point(OPERATIONS)?,
            looking_up: point(LOOKING_UP)?,
            small_messages: point(SMALL_MESSAGES)?,
            large_messages: [point(&some)?, point(&much)?],
        })
    }
}

/// Measures everything in rounds.
pub struct Rounds {
    scenarios: Scenarios,
    cores: usize,
    /// A directory of the disk that is measured.
    directory: PathBuf,
    disk: Disk,
    found: Found,
}

impl Rounds {
    /// On a host with so many cores and the disk of a directory, after what earlier rounds have
    /// found.
    pub fn new(cores: usize, directory: PathBuf, found: Found) -> anyhow::Result<Self> {
        Ok(Self {
            scenarios: Scenarios::new()?,
            cores,
            disk: Disk::below(&directory)?,
            directory,
            found,
        })
    }

    /// Measures everything once more.
    pub fn measure(&mut self) -> anyhow::Result<()> {
        self.found.measure_cluster(&self.scenarios)?;
        self.found.measure_host(self.cores, &self.disk)?;
        self.found
            .recovered_record_ns
            .push(recovery::record_ns(&self.directory)?);
        Ok(())
    }

    /// The samples of all rounds.
    pub const fn found(&self) -> &Found {
        &self.found
    }

    /// The measurements from all rounds.
    pub fn sum_up(&self) -> Measured {
        self.found.sum_up()
    }
}

impl Found {
    fn measure_cluster(&mut self, scenarios: &Scenarios) -> anyhow::Result<()> {
        let Scenarios {
            operations,
            looking_up,
            small_messages,
            large_messages: [large_messages, much_data],
        } = scenarios;
        for scenario in [operations, large_messages, much_data] {
            collect(scenario, 1, Way::Memory, &mut self.alone)?;
        }
        collect(looking_up, AT_ONCE, Way::Memory, &mut self.at_once)?;
        collect(small_messages, 1, Way::Sockets, &mut self.sockets)?;
        collect(large_messages, 1, Way::Sockets, &mut self.sockets)?;
        let _bound = OnOneCore::bind(0)?;
        collect(looking_up, 1, Way::Memory, &mut self.on_one_core)?;
        collect(large_messages, 1, Way::Memory, &mut self.on_one_core)
    }

    fn measure_host(&mut self, cores: usize, disk: &Disk) -> anyhow::Result<()> {
        self.wake_up_ns.push(wake_up_ns());
        let [few, many] = memory::CONNECTIONS;
        let copied = [(1, few), (cores, few), (cores, many)];
        for (rates, (threads, connections)) in self.bytes_per_s.iter_mut().zip(copied) {
            rates.push(memory::bytes_per_s(threads, connections)?);
        }
        let written_ns = disk.write_ns(TRANSFER_BYTES.map(|bytes| bytes as usize))?;
        for (size, times) in written_ns.into_iter().enumerate() {
            self.handed_ns[size].push(times.handed_ns);
            self.disk_ns[size].push(times.synchronized_ns);
        }
        Ok(())
    }

    fn sum_up(&self) -> Measured {
        let all = self.samples().flat_map(BTreeMap::values).flatten();
        let surroundings: Vec<Surroundings> = all.map(|sample| sample.surroundings).collect();
        let usual = Usual::of(&surroundings);
        let like_phases = [usual.count_like(&surroundings), surroundings.len()];
        let costs = |samples: &Samples| -> Costs {
            let costs = samples.iter();
            costs
                .map(|(name, samples)| (name.clone(), cost(samples, usual)))
                .collect()
        };
        let bytes_per_s = self.bytes_per_s.clone().map(Spread::of);
        let [
            core_bytes_per_s,
            host_bytes_per_s,
            host_bytes_per_s_through_many,
        ] = bytes_per_s;
        Measured {
            at_once: costs(&self.at_once).remove("stat").unwrap_or_default(),
            on_one_core: costs(&self.on_one_core),
            alone: costs(&self.alone),
            sockets: costs(&self.sockets),
            wake_up_ns: Spread::of(self.wake_up_ns.clone()),
            core_bytes_per_s,
            host_bytes_per_s,
            host_bytes_per_s_through_many,
            handed_ns: self.handed_ns.clone().map(Spread::of),
            disk_ns: self.disk_ns.clone().map(Spread::of),
            recovered_record_ns: Spread::of(self.recovered_record_ns.clone()),
            usual,
            like_phases,
        }
    }

    fn samples(&self) -> impl Iterator<Item = &Samples> {
        [&self.alone, &self.sockets, &self.at_once, &self.on_one_core].into_iter()
    }
}

pub fn point(scenario: &str) -> anyhow::Result<Point> {
    let scenario = Scenario::parse("calibration", scenario, Path::new("."), &[])?;
    let mut points = scenario.points()?;
    let point = points.pop().context("the calibration has no point")?;
    ensure!(points.is_empty(), "the calibration has several points");
    Ok(point)
}

fn collect(point: &Point, at_once: usize, way: Way, samples: &mut Samples) -> anyhow::Result<()> {
    // Its servers have no disks.
    let scratch = std::env::temp_dir();
    for phase in real::run(&point.body, &point.setup, at_once, way, &scratch)? {
        let name = phase.result.name.clone();
        samples.entry(name).or_default().extend(sample(&phase, way));
    }
    Ok(())
}

fn sample(phase: &real::RealPhase, way: Way) -> Option<Sample> {
    let (server_us, client_ns) = match way {
        Way::Memory => (phase.totals.server_busy_us, phase.client_busy_ns),
        Way::Sockets => (phase.totals.server_cpu_us, phase.totals.client_cpu_ns),
    };
    // Each phase is about one operation.
    let operation = phase.result.operations.values().next()?;
    let performed = phase.performed.max(1) as f64;
    let requests = phase.totals.requests.iter();
    Some(Sample {
        requests: requests
            .map(|(name, requests)| (name.clone(), *requests as f64 / performed))
            .collect(),
        server_ns: server_us as f64 * 1e3 / performed,
        client_ns: client_ns as f64 / performed,
        latency_ns: phase.result.measured_s * 1e9 / operation.count.max(1) as f64,
        surroundings: phase.surroundings,
    })
}

/// The costs of the phases that count.
fn cost(samples: &[Sample], usual: Usual) -> Cost {
    let surroundings: Vec<Surroundings> = samples.iter().map(|s| s.surroundings).collect();
    let counts = usual.counted(&surroundings);
    let counted = samples.iter().zip(counts).filter(|(_, counts)| *counts);
    let counted: Vec<&Sample> = counted.map(|(sample, _)| sample).collect();
    let spread =
        |figure: fn(&Sample) -> f64| Spread::of(counted.iter().map(|s| figure(s)).collect());
    Cost {
        requests: samples
            .first()
            .map_or_else(BTreeMap::new, |sample| sample.requests.clone()),
        server_ns: spread(|sample| sample.server_ns),
        client_ns: spread(|sample| sample.client_ns),
        latency_ns: spread(|sample| sample.latency_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scenario_of_the_calibration_is_one_point() {
        Scenarios::new().unwrap();
    }
}
