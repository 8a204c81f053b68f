//! The phases of a scenario on a real cluster on this host.

use super::{
    grown::{learn_buckets, make_directories},
    local_cluster::{LocalCluster, Way},
    paced::{self, is_paced},
    part::{Part, sum_up},
    replay::Replay,
    surroundings::{Surroundings, Watch},
    totals::Totals,
};
use crate::{allocator, connection::Connection};
use anyhow::{Context, bail};
use futago_base::{Errno, FileId, Payload};
use futago_client::join_all;
use futago_des::{ProcessId, RandomStream};
use futago_lab::{results::PhaseResult, workload::IoPhase};
use futago_node::{Cluster, Futago, Options, RecordedClient, cores::OnOneCore};
use futago_transport::busy;
use futago_twin::{
    scenario::Body,
    world::{
        Activity, Amount, Data, Mix, NameWork, Names, Phase, Place, Setup, Work, find_file,
        make_file, own_name,
    },
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// A phase on a real cluster: its results and its costs.
#[derive(Serialize, Deserialize)]
pub struct RealPhase {
    /// Throughput and latencies.
    pub result: PhaseResult,
    /// How long all clients have had something to do since the warm-up, in nanoseconds.
    pub client_busy_ns: u64,
    /// The work of servers and clients since the warm-up.
    pub totals: Totals,
    /// Operations since the warm-up, those that have ended too late to count too.
    pub performed: u64,
    /// The state of the host meanwhile.
    pub surroundings: Surroundings,
}

/// Runs all phases of a scenario on a cluster of its own. Each client has `at_once` operations
/// under way, or one if it thinks between them or they arrive by themselves; a phase begins when
/// the phase before has ended everywhere. The scenario is one that a real cluster can run
/// ([`refusal::check`](super::refusal::check)). Servers with disks use a directory below `scratch`.
pub fn run(
    body: &Body,
    setup: &Setup,
    at_once: usize,
    way: Way,
    scratch: &Path,
) -> anyhow::Result<Vec<RealPhase>> {
    // The next phase reuses freed memory instead of asking the host for it.
    allocator::keep_freed_memory();
    let local = LocalCluster::start(body, setup, way, scratch)?;
    let watch = Connection::open(&local.cluster)?;
    // In the order in which the twin assigns cores.
    let core = |number| (body.cluster.servers + number) as usize;
    let clients = (0..body.cluster.clients).map(|number| {
        let core = setup.bind_to_core.then(|| core(number));
        RealClient::new(&local.cluster, setup, number, core)
    });
    let mut clients: Vec<RealClient> = clients.collect::<anyhow::Result<_>>()?;
    make_directories(&local.cluster, setup, body.cluster.clients, &watch)?;
    for client in &mut clients {
        client.find_directories(setup)?;
    }
    let phases = setup.phases.iter();
    phases
        .map(|phase| run_phase(phase, at_once, &mut clients, &watch))
        .collect()
}

fn run_phase(
    phase: &Phase,
    at_once: usize,
    clients: &mut [RealClient],
    watch: &Connection,
) -> anyhow::Result<RealPhase> {
    let count = clients.len() as u32;
    together(clients, |client| client.prepare(phase, count))?;
    together(clients, |client| client.find(phase))?;
    let host = Watch::begin(|| together(clients, |client| client.keep_awake()).map(drop))?;
    let before = Totals::ask(watch)?;
    let began = Instant::now();
    let (parts, warm) = thread::scope(|scope| {
        let running =
            scope.spawn(|| together(clients, |client| client.run(phase, at_once, count, began)));
        let warm = after_warm_up(phase, began, watch);
        let parts = running.join();
        (
            parts.unwrap_or_else(|_| bail!("a client's thread panicked")),
            warm,
        )
    });
    let (parts, warm) = (parts?, warm?);
    let after = Totals::ask(watch)?;
    let surroundings = host.end(after.since(&before).cpu_ns());
    for part in &parts {
        part.check()?;
    }
    Ok(RealPhase {
        client_busy_ns: parts.iter().map(Part::busy_ns).sum(),
        totals: after.since(warm.as_ref().unwrap_or(&before)),
        performed: parts.iter().map(|part| part.counted).sum(),
        surroundings,
        result: sum_up(phase, parts),
    })
}

/// The totals at the end of the warm-up; `None` without one.
fn after_warm_up(
    phase: &Phase,
    began: Instant,
    watch: &Connection,
) -> anyhow::Result<Option<Totals>> {
    let (warm, _, _) = window(phase.amount);
    if warm.is_zero() {
        return Ok(None);
    }
    thread::sleep(warm.saturating_sub(began.elapsed()));
    Totals::ask(watch).map(Some)
}

/// Lets all clients do something side by side, each on a thread.
fn together<T: Send>(
    clients: &mut [RealClient],
    each: impl Fn(&mut RealClient) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    let each = &each;
    thread::scope(|scope| {
        let running = clients
            .iter_mut()
            .map(|client| scope.spawn(|| client.on_its_core(each)));
        let running: Vec<_> = running.collect();
        let ended = running.into_iter().map(|client| client.join());
        ended
            .map(|part| part.unwrap_or_else(|_| bail!("a client's thread panicked")))
            .collect()
    })
}

/// A client of its own thread and session, which performs what a simulated one would.
pub struct RealClient {
    pub futago: Futago,
    pub number: u32,
    /// Where it stays, counted as [`OnOneCore::bind`] does.
    core: Option<usize>,
    pub shared: Vec<futago_twin::world::Directory>,
    /// Directories and the names in them, by [`Place::index`].
    places: Vec<(FileId, Names)>,
    random: RandomStream,
    /// The file that the phase is about.
    file: Option<FileId>,
    /// The data of the phase's writes, made beforehand.
    data: Vec<Payload>,
    /// The files of the numbers in the phase's trace, as far as the client has met them.
    files: BTreeMap<u64, FileId>,
}

/// Lets a client perform an operation.
pub fn perform<T>(
    futago: &Futago,
    operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
) -> anyhow::Result<T> {
    Ok(futago.run_blocking(operation)??)
}

impl RealClient {
    fn new(
        cluster: &Cluster,
        setup: &Setup,
        number: u32,
        core: Option<usize>,
    ) -> anyhow::Result<Self> {
        // Its own thread stays there, too.
        let _bound = core.map(OnOneCore::bind).transpose()?;
        Ok(Self {
            futago: Futago::connect(cluster, Options::default())?,
            number,
            core,
            shared: setup.directories.clone(),
            places: Vec::new(),
            random: RandomStream::new(setup.seed, ProcessId(number)),
            file: None,
            data: Vec::new(),
            files: BTreeMap::new(),
        })
    }

    /// Does something on the core where it stays, if there is one.
    fn on_its_core<T>(
        &mut self,
        each: impl Fn(&mut Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let _bound = self.core.map(OnOneCore::bind).transpose()?;
        each(self)
    }

    /// Makes the client's own directory and finds the shared ones.
    fn find_directories(&mut self, setup: &Setup) -> anyhow::Result<()> {
        let name = own_name(self.number)?;
        let own = perform(&self.futago, async |client| {
            client
                .make_directory(FileId::ROOT, &name, 0o755, 0, 0)
                .await
        })?;
        self.places = vec![
            (own.attributes.id, Names::default()),
            (FileId::ROOT, Names::with_directories(setup.wide.each)),
        ];
        for directory in &setup.directories {
            let path = format!("/{}", directory.name).into_bytes();
            let find = async |client: &RecordedClient| client.resolve(&path, true).await;
            let found = perform(&self.futago, find)?.attributes.id;
            if directory.known {
                learn_buckets(&self.futago, found, directory.buckets)?;
            }
            self.places.push((found, Names::default()));
        }
        Ok(())
    }

    /// Makes what the phase needs.
    fn prepare(&mut self, phase: &Phase, clients: u32) -> anyhow::Result<()> {
        let directory = self.places[phase.place.index()].0;
        match &phase.activity {
            Activity::Names(mix) => self.make_common(phase.place, directory, mix, clients),
            Activity::Data(data) => self.make_data(directory, *data),
            Activity::Trace(trace) => {
                self.files.clear();
                let prepared = self.replay(phase).prepare(trace);
                prepared.context("making what the trace begins with")
            }
        }
    }

    /// Makes its share of the common files.
    fn make_common(
        &self,
        place: Place,
        directory: FileId,
        mix: &Mix,
        clients: u32,
    ) -> anyhow::Result<()> {
        let (number, shared) = (self.number, self.shared.clone());
        let files = (0..).map_while(|made| mix.common_file(number, clients, made));
        let files: Vec<u64> = files.collect();
        perform(&self.futago, async |client| {
            for file in files {
                let work = NameWork::make_common(place, directory, file, mix.file_bytes);
                work.perform(client, number, &shared).await?;
            }
            Ok(())
        })
    }

    /// Makes the file of its data, and writes what is to be read.
    fn make_data(&self, directory: FileId, data: Data) -> anyhow::Result<()> {
        let number = self.number;
        if data.is_common() && number > 0 {
            return Ok(());
        }
        perform(&self.futago, async |client| {
            let file = make_file(client, number, directory, &data).await?;
            let transfers = if data.fill {
                data.workload.transfer_count()
            } else {
                0
            };
            for index in 0..transfers {
                let work = Work::Data(data.transfer(IoPhase::Write, number, file, index));
                work.perform(client, number, &[], work.data()).await?;
            }
            Ok(())
        })
    }

    /// Finds the file that the phase is about, and makes what it is to write.
    fn find(&mut self, phase: &Phase) -> anyhow::Result<()> {
        let Activity::Data(data) = phase.activity else {
            return Ok(());
        };
        let (place, number, shared) = (phase.place, self.number, self.shared.clone());
        let find =
            async |client: &RecordedClient| find_file(client, number, place, &data, &shared).await;
        let file = perform(&self.futago, find)?;
        let (_, _, most) = window(phase.amount);
        let transfers = 0..most.min(data.workload.transfer_count());
        let works =
            transfers.map(|index| Work::Data(data.transfer(data.phase, number, file, index)));
        self.data = works.map(|work| work.data().bytes().into()).collect();
        self.file = Some(file);
        Ok(())
    }

    /// Asks every server for something, so that none begins the phase asleep.
    fn keep_awake(&self) -> anyhow::Result<()> {
        perform(&self.futago, async |client| client.space().await).map(drop)
    }

    /// Its work in a phase.
    pub fn works(&self, phase: &Phase) -> Works {
        let (directory, names) = self.places[phase.place.index()];
        Works {
            phase: phase.clone(),
            client: self.number,
            directory,
            names,
            random: self.random.clone(),
            file: self.file.unwrap_or(directory),
            data: self.data.clone(),
        }
    }

    fn replay<'a>(&'a mut self, phase: &'a Phase) -> Replay<'a> {
        Replay {
            futago: &self.futago,
            client: self.number,
            phase,
            shared: &self.shared,
            root: self.places[phase.place.index()].0,
            files: &mut self.files,
        }
    }

    /// Performs its part of a phase, of so many clients, on its own thread.
    fn run(
        &mut self,
        phase: &Phase,
        at_once: usize,
        clients: u32,
        began: Instant,
    ) -> anyhow::Result<Part> {
        let mut part = match &phase.activity {
            Activity::Trace(trace) => self.replay(phase).run(trace, began),
            _ if is_paced(phase) => paced::run(self, phase, clients, began),
            _ => self.run_at_once(phase, at_once, began),
        }?;
        part.busy[1] = busy::total(busy::now());
        Ok(part)
    }

    /// The phase is over, and what is done after it goes on from there.
    pub fn go_on_from(&mut self, phase: &Phase, works: Works) {
        self.places[phase.place.index()].1 = works.names;
        self.random = works.random;
    }

    fn run_at_once(
        &mut self,
        phase: &Phase,
        at_once: usize,
        began: Instant,
    ) -> anyhow::Result<Part> {
        let (mut works, shared) = (self.works(phase), self.shared.clone());
        let (number, (warm, until, most)) = (self.number, window(phase.amount));
        let (part, works) = perform(&self.futago, async |client| {
            let mut part = Part::default();
            while part.performed < most && began.elapsed() < until {
                let some = (part.performed..most)
                    .take(at_once)
                    .map_while(|index| works.next(index));
                let some: Vec<(Work, Payload)> = some.collect();
                part.begin(some.len() as u64, began.elapsed() >= warm);
                let performed = some.into_iter().map(async |(work, data)| {
                    let started = Instant::now();
                    let outcome = work.perform(client, number, &shared, data).await;
                    (work, outcome, started.elapsed())
                });
                let performed = join_all(performed).await;
                if performed.is_empty() {
                    break;
                }
                part.ended = began.elapsed();
                let counts = part.ended >= warm && part.ended <= until;
                for (work, outcome, latency) in performed {
                    if counts {
                        let bytes = outcome.as_ref().map(|_| work.bytes());
                        part.add(work.kind(), bytes.map_err(|errno| *errno), latency);
                    }
                    part.keep(work, outcome, &works);
                }
            }
            Ok((part, works))
        })?;
        self.go_on_from(phase, works);
        Ok(part)
    }
}

/// A client's operations in a phase.
pub struct Works {
    phase: Phase,
    client: u32,
    directory: FileId,
    names: Names,
    pub random: RandomStream,
    file: FileId,
    data: Vec<Payload>,
}

impl Works {
    /// How many different transfers it makes.
    pub const fn transfers_made(&self) -> usize {
        self.data.len()
    }

    /// The operation of this index, and what it writes; `None` if there is no more.
    pub fn next(&mut self, index: u64) -> Option<(Work, Payload)> {
        match &self.phase.activity {
            Activity::Names(mix) => {
                let (place, directory) = (self.phase.place, self.directory);
                let work = self.names.next(mix, place, directory, &mut self.random);
                Some((work, Payload::empty()))
            }
            Activity::Data(data) => {
                let work = Work::Data(data.transfer(data.phase, self.client, self.file, index));
                let made = self
                    .data
                    .get((index % data.workload.transfer_count()) as usize);
                Some((work, made.cloned().unwrap_or_default()))
            }
            // It is replayed.
            Activity::Trace(_) => None,
        }
    }
}

/// From when and until when operations count, and how many there are.
pub const fn window(amount: Amount) -> (Duration, Duration, u64) {
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
