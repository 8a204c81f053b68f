//! What is measured: every operation by itself, with one server and one client.

use crate::commands::twin::spread::Spread;
use crate::{output, simulation::real};
use anyhow::Context;
use futago_twin::scenario::{Point, Scenario};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;
use std::{collections::BTreeMap, path::Path, sync::mpsc, thread, time::Instant};

/// Every operation by itself, in a directory of the client's own.
const OPERATIONS: &str = "
cluster = { servers = 1, clients = 1 }
machine.preset = 'workstation'
workload.phases = [
  { name = 'first-files', mix = { create = 1 }, operations = 400 },
  { name = 'list-few', mix = { read-directory = 1 }, operations = 200 },
  { name = 'create', mix = { create = 1 }, operations = 3_600 },
  { name = 'list-many', mix = { read-directory = 1 }, operations = 100 },
  { name = 'stat', mix = { stat = 1 }, operations = 6_000 },
  { name = 'unlink', mix = { unlink = 1 }, operations = 3_000 },
  { name = 'make-directory', mix = { make-directory = 1 }, operations = 1_000 },
  { name = 'fill', data = { operation = 'write', size = '8MiB', transfer = '4KiB' } },
  { name = 'write-first', data = { operation = 'write', size = '1MiB', transfer = '4KiB' }, operations = 1_024 },
  { name = 'read-first', data = { operation = 'read', size = '1MiB', transfer = '4KiB' }, operations = 1_024 },
  { name = 'write-small', data = { operation = 'write', size = '8MiB', transfer = '4KiB' }, operations = 2_048 },
  { name = 'read-small', data = { operation = 'read', size = '8MiB', transfer = '4KiB' }, operations = 2_048 },
  { name = 'fill-large', data = { operation = 'write', size = '64MiB', transfer = '1MiB' }, operations = 256 },
  { name = 'write-large', data = { operation = 'write', size = '64MiB', transfer = '1MiB' }, operations = 256 },
  { name = 'read-large', data = { operation = 'read', size = '64MiB', transfer = '1MiB' }, operations = 256 },
]";

/// What is asked for several at a time, or on one core.
const LOOKING_UP: &str = "
cluster = { servers = 1, clients = 1 }
machine.preset = 'workstation'
workload.phases = [
  { name = 'create', mix = { create = 1 }, operations = 2_000 },
  { name = 'stat', mix = { stat = 1 }, operations = 8_000 },
]";

/// Files in the directory when `list-few` and `list-many` list it.
pub const LISTED_FILES: [u64; 2] = [400, 4_000];
/// Bytes of small and large transfers.
pub const TRANSFER_BYTES: [f64; 2] = [4096.0, 1_048_576.0];
/// How many operations are under way at once where several are.
pub const AT_ONCE: usize = 8;
/// How often two threads wake each other.
const WAKE_UPS: u32 = 2_000;

/// What an operation of one phase takes on average.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cost {
    /// Requests, by name.
    pub requests: BTreeMap<String, f64>,
    /// How long the server has something to do, in nanoseconds.
    pub server_ns: Spread,
    /// How long the client has something to do, in nanoseconds.
    pub client_ns: Spread,
    /// From its beginning to its end, in nanoseconds.
    pub latency_ns: Spread,
}

/// All that is measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measured {
    /// Phases of [`OPERATIONS`], one operation at a time.
    pub alone: BTreeMap<String, Cost>,
    /// `stat`, [`AT_ONCE`] at a time.
    pub at_once: Cost,
    /// `stat`, one at a time, server and client on one core.
    pub on_one_core: Cost,
    /// From a thread's waking another one, which sleeps, until that runs, in nanoseconds.
    pub wake_up_ns: Spread,
}

/// What one round has found, by phase.
type Samples = BTreeMap<String, Vec<Sample>>;

struct Sample {
    requests: BTreeMap<String, f64>,
    server_ns: f64,
    client_ns: f64,
    latency_ns: f64,
}

/// Measures everything so many times.
pub fn measure(rounds: u32) -> anyhow::Result<Measured> {
    let (operations, looking_up) = (point(OPERATIONS)?, point(LOOKING_UP)?);
    let (mut alone, mut at_once, mut on_one_core) =
        (Samples::new(), Samples::new(), Samples::new());
    let mut wake_ups = Vec::new();
    let bar = output::progress(u64::from(rounds), "rounds");
    for _ in 0..rounds {
        collect(&operations, 1, &mut alone)?;
        collect(&looking_up, AT_ONCE, &mut at_once)?;
        {
            let _bound = OnOneCore::bind()?;
            collect(&looking_up, 1, &mut on_one_core)?;
        }
        wake_ups.push(wake_up_ns());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let stat = |samples: &Samples| samples.get("stat").map(|all| cost(all)).unwrap_or_default();
    Ok(Measured {
        at_once: stat(&at_once),
        on_one_core: stat(&on_one_core),
        wake_up_ns: Spread::of(wake_ups),
        alone: alone
            .iter()
            .map(|(name, samples)| (name.clone(), cost(samples)))
            .collect(),
    })
}

fn point(scenario: &str) -> anyhow::Result<Point> {
    let scenario = Scenario::parse("calibration", scenario, Path::new("."), &[])?;
    let points = scenario.points()?;
    points
        .into_iter()
        .next()
        .context("the calibration has no point")
}

fn collect(point: &Point, at_once: usize, samples: &mut Samples) -> anyhow::Result<()> {
    for phase in real::run(&point.body, &point.setup, at_once)? {
        let name = phase.result.name.clone();
        samples.entry(name).or_default().extend(sample(&phase));
    }
    Ok(())
}

fn sample(phase: &real::RealPhase) -> Option<Sample> {
    // Each phase is about one operation.
    let operation = phase.result.operations.values().next()?;
    let count = operation.count.max(1) as f64;
    let requests = phase.requests.iter();
    Some(Sample {
        requests: requests
            .map(|(name, requests)| (name.clone(), *requests as f64 / count))
            .collect(),
        server_ns: phase.server_busy_us as f64 * 1e3 / count,
        client_ns: phase.client_busy_ns as f64 / count,
        latency_ns: operation.latency_us.mean * 1e3,
    })
}

fn cost(samples: &[Sample]) -> Cost {
    let spread = |figure: fn(&Sample) -> f64| Spread::of(samples.iter().map(figure).collect());
    Cost {
        requests: samples
            .first()
            .map_or_else(BTreeMap::new, |sample| sample.requests.clone()),
        server_ns: spread(|sample| sample.server_ns),
        client_ns: spread(|sample| sample.client_ns),
        latency_ns: spread(|sample| sample.latency_ns),
    }
}

/// This thread, and the processes and threads that it starts, run on one core meanwhile.
struct OnOneCore(CpuSet);

impl OnOneCore {
    fn bind() -> anyhow::Result<Self> {
        let before = sched_getaffinity(None).context("asking for the cores")?;
        let mut one = CpuSet::new();
        let first = (0..CpuSet::MAX_CPU).find(|&core| before.is_set(core));
        one.set(first.unwrap_or(0));
        sched_setaffinity(None, &one).context("binding to one core")?;
        Ok(Self(before))
    }
}

impl Drop for OnOneCore {
    fn drop(&mut self) {
        // What was allowed before is allowed.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// Half of the time in which two threads that sleep wake each other.
fn wake_up_ns() -> f64 {
    let (there, called) = mpsc::channel();
    let (back, answered) = mpsc::channel();
    let other = thread::spawn(move || {
        for () in called {
            if back.send(()).is_err() {
                return;
            }
        }
    });
    let began = Instant::now();
    for _ in 0..WAKE_UPS {
        if there.send(()).is_err() || answered.recv().is_err() {
            break;
        }
    }
    let took = began.elapsed();
    drop(there);
    // It has no reason to panic; if it has, the figure is wrong and nothing else.
    let _ = other.join();
    took.as_nanos() as f64 / f64::from(WAKE_UPS) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scenario_of_the_calibration_is_one_point() {
        for scenario in [OPERATIONS, LOOKING_UP] {
            let scenario = Scenario::parse("calibration", scenario, Path::new("."), &[]).unwrap();
            assert_eq!(scenario.points().unwrap().len(), 1);
        }
    }
}
