//! The phases of a scenario on a real cluster on this host.

use crate::{
    cluster::ClusterFile,
    connection::Connection,
    exit::{Exit, Problem},
};
use anyhow::{Context, bail};
use futago_base::{Errno, FileId};
use futago_des::{ProcessId, RandomStream};
use futago_lab::{
    results::{Bound, LatencySummary, OperationResult, PhaseResult},
    statistics::Latencies,
};
use futago_node::{Client, Cluster, Futago, Options};
use futago_twin::{
    scenario::Body,
    world::{Amount, Latency, Names, OperationKind, Phase, Place, Setup, own_name},
};
use rustix::time::{ClockId, clock_gettime};
use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

/// A cluster of server processes on this host, which ends with this value.
pub struct LocalCluster {
    directory: tempfile::TempDir,
    cluster: Cluster,
}

/// A phase on a real cluster: what came of it, and what it cost.
pub struct RealPhase {
    /// Throughput and latencies.
    pub result: PhaseResult,
    /// Processor time of this process, which runs the clients, in microseconds.
    pub client_cpu_us: u64,
    /// Processor time of all servers, in microseconds.
    pub server_cpu_us: u64,
    /// Requests that the servers were sent, by name.
    pub requests: BTreeMap<String, u64>,
}

impl LocalCluster {
    /// Starts so many servers, each a process.
    pub fn start(body: &Body) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("cluster.toml");
        let output = Command::new(std::env::current_exe()?)
            .args(["up", "--memory", "2GiB", "--servers"])
            .arg(body.cluster.servers.to_string())
            .arg("--partitions")
            .arg(body.cluster.partitions.to_string())
            .arg("--cluster")
            .arg(&path)
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            bail!(
                "futago up: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        let cluster = ClusterFile { path }.load()?;
        Ok(Self { directory, cluster })
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        let ended = std::env::current_exe().and_then(|program| {
            let file = self.directory.path().join("cluster.toml");
            Command::new(program)
                .arg("down")
                .arg("--cluster")
                .arg(file)
                .output()
        });
        if let Err(error) = ended {
            eprintln!("futago: the cluster of the measurement is left running: {error}");
        }
    }
}

/// Whether a real cluster on this host can do what the scenario says.
fn check(setup: &Setup) -> anyhow::Result<()> {
    let grown = setup.directories.iter().any(|d| d.buckets != 1 || d.known);
    let reason = if grown {
        "directories begin with one bucket, which clients do not know"
    } else if setup
        .phases
        .iter()
        .any(|phase| phase.think != Latency::ZERO)
    {
        "clients do not think"
    } else {
        return Ok(());
    };
    let message = format!("the scenario cannot be run for real: on a real cluster, {reason}");
    Err(Problem::error(Exit::Usage, message))
}

/// Runs all phases of a scenario on a cluster of its own.
pub fn run(body: &Body, setup: &Setup) -> anyhow::Result<Vec<RealPhase>> {
    check(setup)?;
    let local = LocalCluster::start(body)?;
    let watch = Connection::open(&local.cluster)?;
    let clients =
        (0..body.cluster.clients).map(|number| RealClient::new(&local.cluster, setup, number));
    let mut clients: Vec<RealClient> = clients.collect::<anyhow::Result<_>>()?;
    if let Some(first) = clients.first_mut() {
        first.make_shared(setup)?;
    }
    for client in &mut clients {
        client.find_directories(setup)?;
    }
    let phases = setup.phases.iter();
    phases
        .map(|phase| run_phase(phase, &mut clients, &watch))
        .collect()
}

/// What all servers have done so far.
fn totals(watch: &Connection) -> anyhow::Result<(u64, BTreeMap<String, u64>)> {
    let (mut cpu_us, mut requests) = (0, BTreeMap::new());
    for server in watch.map().servers() {
        let status = watch.status(server)?;
        cpu_us += status.cpu_us;
        for (name, count) in status.requests {
            *requests.entry(name).or_default() += count;
        }
    }
    Ok((cpu_us, requests))
}

fn own_cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

fn run_phase(
    phase: &Phase,
    clients: &mut [RealClient],
    watch: &Connection,
) -> anyhow::Result<RealPhase> {
    let before = (totals(watch)?, own_cpu_us());
    let began = Instant::now();
    let parts: Vec<anyhow::Result<Part>> = thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || client.run(phase, began)))
            .collect();
        let ended = running.into_iter().map(|client| client.join());
        ended
            .map(|part| part.unwrap_or_else(|_| bail!("a client's thread panicked")))
            .collect()
    });
    let client_cpu_us = own_cpu_us() - before.1;
    let after = totals(watch)?;
    let parts = parts.into_iter().collect::<anyhow::Result<Vec<Part>>>()?;
    let requests = after.1.into_iter().map(|(name, count)| {
        let earlier = before.0.1.get(&name).copied().unwrap_or(0);
        (name, count.saturating_sub(earlier))
    });
    Ok(RealPhase {
        result: sum_up(phase, parts),
        client_cpu_us,
        server_cpu_us: after.0.saturating_sub(before.0.0),
        requests: requests
            .filter(|(name, count)| *count > 0 && name != "get_status" && name != "keep_alive")
            .collect(),
    })
}

/// What one client measured in a phase.
#[derive(Default)]
struct Part {
    latencies: BTreeMap<OperationKind, (Latencies, f64)>,
    errors: BTreeMap<(OperationKind, Errno), u64>,
    ended: Duration,
}

fn sum_up(phase: &Phase, parts: Vec<Part>) -> PhaseResult {
    let longest = parts
        .iter()
        .map(|part| part.ended)
        .max()
        .unwrap_or_default();
    let measured_s = match phase.amount {
        Amount::Operations(_) => longest.as_secs_f64(),
        Amount::Duration { measured_ns, .. } => measured_ns as f64 / 1e9,
    };
    let mut operations: BTreeMap<OperationKind, (Latencies, f64, BTreeMap<String, u64>)> =
        BTreeMap::new();
    for part in parts {
        for (kind, (latencies, total_us)) in part.latencies {
            let all = operations.entry(kind).or_default();
            all.0.merge(&latencies);
            all.1 += total_us;
        }
        for ((kind, errno), count) in part.errors {
            let errors = &mut operations.entry(kind).or_default().2;
            *errors.entry(errno.name().to_owned()).or_default() += count;
        }
    }
    let results = operations
        .into_iter()
        .map(|(kind, (latencies, total_us, errors))| {
            let name: &str = (&kind).into();
            let count = latencies.count();
            let result = OperationResult {
                count,
                errors,
                per_s: count as f64 / measured_s,
                latency_us: LatencySummary {
                    p50: latencies.quantile_us(0.5),
                    p99: latencies.quantile_us(0.99),
                    mean: total_us / count.max(1) as f64,
                },
            };
            (name.to_owned(), result)
        });
    PhaseResult {
        name: phase.name.clone(),
        measured_s,
        operations: results.collect(),
        resources: BTreeMap::new(),
        bound: Bound::default(),
    }
}

/// A client of its own thread and session, which performs what a simulated one would.
struct RealClient {
    futago: Futago,
    number: u32,
    shared: Vec<futago_twin::world::Directory>,
    /// Directories and the names in them: the client's own first, then the shared ones.
    places: Vec<(FileId, Names)>,
    random: RandomStream,
}

fn perform<T: Send + 'static, F: Future<Output = Result<T, Errno>> + 'static>(
    futago: &Futago,
    operation: impl FnOnce(Rc<Client>) -> F + Send + 'static,
) -> anyhow::Result<T> {
    Ok(futago.run_blocking(operation)??)
}

impl RealClient {
    fn new(cluster: &Cluster, setup: &Setup, number: u32) -> anyhow::Result<Self> {
        Ok(Self {
            futago: Futago::connect(cluster, Options::default())?,
            number,
            shared: setup.directories.clone(),
            places: Vec::new(),
            random: RandomStream::new(setup.seed, ProcessId(number)),
        })
    }

    fn make_shared(&mut self, setup: &Setup) -> anyhow::Result<()> {
        for directory in &setup.directories {
            let path = format!("/{}", directory.name).into_bytes();
            perform(&self.futago, move |client| async move {
                let place = client.locate(&path).await?;
                let made = client.make_directory(place.directory, &place.name, 0o755, 0, 0);
                made.await.map(drop)
            })
            .with_context(|| format!("making {}", directory.name))?;
        }
        Ok(())
    }

    /// Makes the client's own directory and finds the shared ones.
    fn find_directories(&mut self, setup: &Setup) -> anyhow::Result<()> {
        let name = own_name(self.number)?;
        let own = perform(&self.futago, move |client| async move {
            client
                .make_directory(FileId::ROOT, &name, 0o755, 0, 0)
                .await
        })?;
        self.places = vec![(own.attributes.id, Names::default())];
        for directory in &setup.directories {
            let path = format!("/{}", directory.name).into_bytes();
            let find = move |client: Rc<Client>| async move { client.resolve(&path, true).await };
            let found = perform(&self.futago, find)?;
            self.places.push((found.attributes.id, Names::default()));
        }
        Ok(())
    }

    /// Performs its part of a phase on the client's own thread.
    fn run(&mut self, phase: &Phase, began: Instant) -> anyhow::Result<Part> {
        let place = match phase.place {
            Place::Own => 0,
            Place::Shared(number) => number + 1,
        };
        let (directory, mut names) = self.places[place];
        let (phase, number, shared) = (phase.clone(), self.number, self.shared.clone());
        let mut random = self.random.clone();
        let (part, names, random) = perform(&self.futago, move |client| async move {
            let mut part = Part::default();
            let (warm, until, most) = window(phase.amount);
            let mut begun = 0;
            while begun < most && began.elapsed() < until {
                begun += 1;
                let work = names.next(&phase, directory, &mut random);
                let started = Instant::now();
                let outcome = work.perform(&client, number, &shared).await;
                let latency = started.elapsed();
                part.ended = began.elapsed();
                if part.ended < warm || part.ended > until {
                    continue;
                }
                part.add(work.kind, outcome, latency);
            }
            Ok((part, names, random))
        })?;
        self.places[place].1 = names;
        self.random = random;
        Ok(part)
    }
}

impl Part {
    fn add(&mut self, kind: OperationKind, outcome: Result<(), Errno>, latency: Duration) {
        match outcome {
            Ok(()) => {
                let (latencies, total_us) = self.latencies.entry(kind).or_default();
                latencies.record(latency.as_nanos() as u64);
                *total_us += latency.as_secs_f64() * 1e6;
            }
            Err(errno) => *self.errors.entry((kind, errno)).or_default() += 1,
        }
    }
}

/// From when and until when operations count, and how many there are.
const fn window(amount: Amount) -> (Duration, Duration, u64) {
    match amount {
        Amount::Operations(count) => (Duration::ZERO, Duration::MAX, count),
        Amount::Duration {
            warm_up_ns,
            measured_ns,
        } => (
            Duration::from_nanos(warm_up_ns),
            Duration::from_nanos(warm_up_ns + measured_ns),
            u64::MAX,
        ),
    }
}
