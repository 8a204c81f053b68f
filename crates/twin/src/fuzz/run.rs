//! Runs a scenario and checks everything that can be checked.

use super::judgement::describe;
use super::perform::remove_entries;
use super::progress::Rest;
use super::restore;
use super::script::Script;
use super::{Absence, Burst, ClockStep, Known, Scenario, WriteBack};
use crate::check::{History, Setting, Verdict, linearize, snapshot};
use crate::cluster::{
    Cluster, Coverage, DiskConfig, DiskFaults, Ending, Event, Faults, Mark, Network, Party,
};
use crate::model::Tree;
use crate::random::Random;
use crate::sequential::World;
use futago_base::{ClusterMap, Duration, FileId, ServerId, Time, map::Policy};
use futago_server::Config;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Code panicked.
    Panic,
    /// An operation did not end, or not in time.
    Slow,
    /// An operation failed for no reason that a user could understand.
    Error,
    /// After the last fault, something does not come to an end.
    Stuck,
    /// Records do not fit together.
    Damage,
    /// A time ran backwards.
    Time,
    /// No order of the operations explains what clients saw.
    Order,
}

/// A mistake.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its sort.
    pub kind: FailureKind,
    /// The fault and its history.
    pub text: String,
}

const CHUNK_BYTES: u32 = 4096;
pub(super) const GRACE: Duration = Duration::from_secs(2);
pub(super) const LEASE: Duration = Duration::from_secs(8);
/// Seven eighths of a lease, but for what clocks may be apart.
pub(super) const LEASE_TRUST: Duration = Duration(LEASE.0 / 8 * 7 - CLOCK_AHEAD_MAX.0);
/// A client that is away for no longer keeps its sessions: servers hear of it every quarter of a
/// lease.
pub(super) const SESSION_SAFE: Duration = Duration(LEASE.0 / 4);
/// Time for messages that are under way, their retries, and what they lead to.
pub(super) const NETWORK: Duration = Duration::from_millis(2500);
/// How long clients try again: longer than an operation may take.
const RETRY: Duration = Duration::from_secs(30);
/// So many synchronizations, one after the other, an operation waits for at most.
const SYNCHRONIZATIONS_MAX: u64 = 20;
/// How far servers' clocks are apart at most, unless they step.
const CLOCK_AHEAD_MAX: Duration = Duration::from_millis(50);
/// How long clients wait for each other's caches.
const CACHE_TIMEOUT: Duration = Duration::from_millis(50);
/// Blocks that only one client has may pass to others fewer times.
const CHANCES: usize = 3;
/// A cache that evicts blocks.
const SMALL_CACHE_BYTES: u64 = 24 << 10;
/// The place of a client that takes no leases.
pub(super) const NO_PLACE: usize = usize::MAX;
/// No operation takes longer, whatever happens.
const END: Duration = Duration::from_secs(100);
/// A script of many operations on slow disks has so much more time for each.
const STEP_TIME: Duration = Duration::from_secs(1);

/// The extent of the checks of a scenario without a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The recovery paths and kinds of faults that it has passed through.
    pub coverage: Coverage,
    /// The histories of bursts.
    pub histories: u64,
    /// Those of them whose search for an order took too long.
    pub undecided: u64,
}

/// Runs a scenario. An error says what went wrong.
pub fn run(scenario: &Scenario) -> Result<Checked, Failure> {
    let mut run = Run::new(scenario)?;
    let stop = scenario
        .bursts
        .iter()
        .position(|burst| burst.stop.is_some() || scenario.undoes(burst));
    let (before, after) = scenario
        .bursts
        .split_at(stop.unwrap_or(scenario.bursts.len()));
    for burst in before {
        run.burst(burst)?;
    }
    match after.first().map(|burst| burst.stop) {
        Some(Some(stop)) => run.lose(stop, after)?,
        Some(None) => run.undo(after)?,
        None => run.end()?,
    }
    Ok(run.checked)
}

pub(super) struct Run {
    pub world: World,
    pub(super) seed: u64,
    /// Whether servers have disks, which `fsync` synchronizes.
    pub(super) has_disks: bool,
    pub(super) leases_max: Vec<usize>,
    contacts: Vec<Option<ServerId>>,
    keeps_data: bool,
    shares_caches: bool,
    pub write_back: WriteBack,
    pub listed_at_once: u32,
    /// How much longer everything takes because of disks.
    pub(super) disk_time: Duration,
    /// The faults of disks while there are faults.
    pub(super) disk_faults: DiskFaults,
    /// Whether bits of data change on disks in the end.
    pub(super) has_damage: bool,
    /// Whether the clock of a server has stepped.
    pub(super) is_stepped: bool,
    /// When all servers run that were to be away.
    pub(super) all_back: Time,
    /// The clients that live, by their place in the scenario.
    pub clients: Vec<usize>,
    pub tree: Tree,
    pub setting: Setting,
    pub(super) checked: Checked,
}

pub(super) fn failure(kind: FailureKind, text: impl Into<String>) -> Failure {
    Failure {
        kind,
        text: text.into(),
    }
}

/// The servers of a scenario. Their clocks differ.
fn cluster(scenario: &Scenario) -> Result<Cluster, Failure> {
    let map = ClusterMap::new(1, Policy::Modular, 64, usize::from(scenario.servers))
        .map_err(|error| failure(FailureKind::Error, error.to_string()))?;
    let config = Config {
        grace: GRACE,
        lease: LEASE,
        lease_pause: scenario.lease_pause,
        split_entries: scenario.split_entries,
        spread_depth: scenario.spread_depth,
        ..Config::default()
    };
    let network = Network::new(scenario.seed);
    let memory_bytes = scenario.memory_bytes;
    let (admission, defect) = (scenario.admission, scenario.defect);
    let mut cluster = Cluster::new(map, &config, memory_bytes, admission, network, defect);
    let mut clocks = Random::new(scenario.seed, 3);
    for server in &mut cluster.servers {
        server.clock_ahead = Duration(clocks.below(CLOCK_AHEAD_MAX.0));
    }
    if let Some(disks) = scenario.disks {
        cluster.put_on_disks(disks, scenario.seed);
    }
    Ok(cluster)
}

/// Some messages of an operation wait for disks, one after the other, and disks fail.
fn disk_time(scenario: &Scenario) -> Duration {
    let Some(disks) = scenario.disks else {
        return Duration(0);
    };
    // A read of a released file waits until its data is written, beside the requests of others.
    let operations = if scenario.releases { 4 } else { 1 };
    let waits = disks
        .synchronization_max
        .times(operations * SYNCHRONIZATIONS_MAX);
    let fails = u64::from(disks.failing_permille + disks.dropping_permille);
    Duration(waits.0 + DiskConfig::RETURN_MAX.times(fails).0)
}

const fn setting(scenario: &Scenario) -> Setting {
    Setting {
        chunk_bytes: CHUNK_BYTES as u64,
        limited: scenario.memory_bytes < Scenario::MEMORY_UNLIMITED,
        kernels: 0,
        grace: GRACE,
    }
}

impl Run {
    fn new(scenario: &Scenario) -> Result<Self, Failure> {
        let world = World::new(cluster(scenario)?);
        let tree = snapshot(&world.cluster.stores(), &world.cluster.sessions, &[]);
        let mut run = Self {
            world,
            seed: scenario.seed,
            has_disks: scenario.disks.is_some(),
            leases_max: scenario.leases_max.clone(),
            contacts: scenario.contacts.clone(),
            keeps_data: scenario.keeps_data,
            shares_caches: scenario.shares_caches,
            write_back: scenario.write_back,
            listed_at_once: scenario.listed_at_once,
            disk_time: disk_time(scenario),
            disk_faults: DiskFaults::Lossless,
            // Nobody brings the data of released files in the end.
            has_damage: scenario.disks.is_some() && !scenario.releases,
            is_stepped: false,
            all_back: Time(0),
            clients: Vec::new(),
            tree,
            setting: setting(scenario),
            checked: Checked::default(),
        };
        run.clients = (0..scenario.clients)
            .map(|place| run.add_client(place))
            .collect();
        if scenario.releases {
            run.add_restorer();
        }
        Ok(run)
    }

    pub(super) fn add_client(&mut self, place: usize) -> usize {
        let now = self.world.now;
        let leases_max = self.leases_max.get(place).copied().unwrap_or(0);
        let blocks_max = if self.keeps_data {
            leases_max as u64
        } else {
            0
        };
        // With none, a client would ask for no lease that covers data.
        let data_bytes_max = 1 + blocks_max * u64::from(futago_client::Config::DATA_BLOCK_BYTES);
        let chances = if self.shares_caches {
            place % CHANCES
        } else {
            0
        };
        let config = futago_client::Config {
            chunk_bytes: CHUNK_BYTES,
            lease_trust: (leases_max > 0).then_some(LEASE_TRUST),
            leases_max,
            names_max: 4 * leases_max,
            contact: self.contact(place),
            listed_at_once: self.listed_at_once,
            data_bytes_max: match chances {
                0 => data_bytes_max,
                _ => data_bytes_max.min(SMALL_CACHE_BYTES),
            },
            dirty_bytes_max: self.write_back.dirty_bytes_max,
            exclusive_after: self.write_back.exclusive_after,
            retry: RETRY,
            durable_fsync: self.has_disks,
            shared_bytes_min: 0,
            cache_timeout: CACHE_TIMEOUT,
            chances: chances as u8,
            ..futago_client::Config::default()
        };
        let client = self.world.cluster.add_client(config, self.seed, now);
        if self.shares_caches {
            self.world.cluster.clients[client].share();
        }
        self.world.run_client(client);
        client
    }

    /// Adds a client that brings the data of released files. It has no part in scripts and faults.
    fn add_restorer(&mut self) {
        let client = self.add_client(NO_PLACE);
        let node = &mut self.world.cluster.clients[client];
        for server in node.core.clone().map().servers() {
            node.spawn(restore::serve(node.core.clone(), server));
        }
        self.world.run_client(client);
        // Servers must know of it before a client needs data.
        self.world.run(self.network_time(), |_| false);
    }

    /// The contact server of a client. A reduced scenario may have fewer servers.
    fn contact(&self, place: usize) -> Option<ServerId> {
        let servers = self.world.cluster.map.server_count();
        let contact = self.contacts.get(place).copied().flatten();
        contact.map(|contact| ServerId(contact.0 % servers))
    }

    fn burst(&mut self, burst: &Burst) -> Result<(), Failure> {
        let history = Rc::new(RefCell::new(History::new()));
        self.begin_faults(burst);
        let (mut over, known) = (Vec::new(), Known::of(&self.tree));
        for (place, script) in burst.scripts.iter().enumerate() {
            let client = self.clients[place];
            let death = burst.death.filter(|death| death.client == place);
            let node = &mut self.world.cluster.clients[client];
            node.die_after(death.map(|death| death.after_messages));
            let script = Script::new(script, burst.idle, known.clone(), history.clone(), None);
            self.follow(client, &script);
            over.push((client, script));
        }
        for &(client, _) in &over {
            self.world.run_client(client);
        }
        let is_over = |cluster: &Cluster| {
            over.iter()
                .all(|(client, script)| script.is_done() || !cluster.clients[*client].is_alive())
        };
        let steps = burst.scripts.iter().map(Vec::len).max().unwrap_or_default();
        let end = Duration(END.0 + STEP_TIME.times(steps as u64).0);
        let ended = self.world.run(end, is_over);
        let Rest { dead, progress } = self.rest(&history);
        let history = history.take();
        let verdict = if ended {
            self.check_sessions(&dead, burst)
                .and(progress)
                .and_then(|()| self.judge(&history, burst))
        } else {
            progress.and(Err(failure(
                FailureKind::Slow,
                "an operation does not end\n",
            )))
        };
        verdict.map_err(|failure| Failure {
            text: failure.text + &describe(&history),
            ..failure
        })
    }

    /// Has a client do what is left of a script.
    pub(super) fn follow(&mut self, client: usize, script: &Rc<Script>) {
        let node = &mut self.world.cluster.clients[client];
        node.spawn(script.clone().follow(node.core.clone(), client));
    }

    /// From now on, what goes wrong in a burst goes wrong.
    pub fn begin_faults(&mut self, burst: &Burst) {
        let (faults, now) = (self.faults(burst), self.world.now);
        self.world.cluster.network.set_faults(faults, now);
        self.world.cluster.set_disk_faults(self.disk_faults);
        let steps = burst.clock_steps.iter();
        let is_server = |step: &ClockStep| matches!(step.party, Party::Server(_));
        self.is_stepped |= steps.clone().any(is_server);
        let event = |step: &ClockStep| Event::StepClock(self.party(step.party), step.by_ns);
        let steps = steps.map(|step| (step.at, event(step))).collect();
        self.world.schedule(steps);
        for absence in &burst.absences {
            let &Absence {
                server, from, to, ..
            } = absence;
            let stop = Event::Stop(server, absence.ending);
            self.world
                .schedule(vec![(from, stop), (to, Event::Resume(server))]);
            // A server that may have lost something waits for a lease.
            let waits = absence.ending == Ending::Power;
            let grace = if waits { LEASE } else { Duration(0) };
            self.all_back = self.all_back.max(now + to + grace);
        }
    }

    /// A party, if it is a client by its number instead of its place in the scenario.
    fn party(&self, party: Party) -> Party {
        match party {
            Party::Client(place) => Party::Client(self.clients[place]),
            server @ Party::Server(_) => server,
        }
    }

    /// The faults of a burst, with clients by their numbers.
    fn faults(&self, burst: &Burst) -> Faults {
        let mut faults = burst.faults.clone();
        for pause in &mut faults.pauses {
            pause.client = self.clients[pause.client];
        }
        for partition in &mut faults.partitions {
            partition.one = self.party(partition.one);
            partition.other = self.party(partition.other);
        }
        faults
    }

    /// Time for messages that are under way, their retries, and what they lead to.
    pub(super) const fn network_time(&self) -> Duration {
        Duration(NETWORK.0 + self.disk_time.0)
    }

    /// Waits until no client is paused any more: what waits for one is put off until then.
    pub(super) fn resume(&mut self) {
        let (now, network) = (self.world.now, &self.world.cluster.network);
        let clients = self.clients.iter();
        let left = clients.filter_map(|&client| network.paused(client, now));
        let left = left.max().unwrap_or_default();
        self.world.run(left, |_| false);
    }

    pub(super) const fn note_coverage(&mut self) {
        self.checked.coverage = self.world.cluster.coverage;
    }

    /// Notes a mark if it holds.
    pub(super) const fn note_if(&mut self, holds: bool, mark: Mark) {
        self.checked.coverage.add_if(holds, mark);
    }

    /// All clients leave; nothing of them may stay. Then everything is removed; nothing of it may.
    fn end(&mut self) -> Result<(), Failure> {
        // A client that leaves one server is refused by others, which is no loss of its session.
        self.note_coverage();
        for client in self.clients.clone() {
            let node = &mut self.world.cluster.clients[client];
            node.kill_tasks();
            let core = node.core.clone();
            node.spawn(async move {
                let _ = core.end_session().await;
            });
            self.world.run_client(client);
            self.tree.expire(client, |_| true);
        }
        let progress = self.begin_progress();
        self.world.run(self.network_time(), |_| false);
        self.end_progress(&progress)?;
        let after = self.check_records()?;
        let history = History::new();
        let verdict = linearize(&history, &self.tree, Some(&after), self.setting);
        if let Verdict::Unexplained(text) = verdict {
            let text = format!("after all have left: {text}");
            return Err(failure(FailureKind::Order, text));
        }
        self.tree = after;
        self.damage()?;
        self.remove_everything()
    }

    fn remove_everything(&mut self) -> Result<(), Failure> {
        let client = self.add_client(NO_PLACE);
        let node = &mut self.world.cluster.clients[client];
        let (core, removed) = (node.core.clone(), Rc::new(Cell::new(None)));
        let result = removed.clone();
        node.spawn(async move { result.set(Some(remove_entries(&core, FileId::ROOT).await)) });
        self.world.run_client(client);
        self.world.run(END, |_| removed.get().is_some());
        if removed.get() != Some(Ok(())) {
            let text = format!("cannot remove everything: {:?}\n", removed.get());
            return Err(failure(FailureKind::Error, text));
        }
        let progress = self.begin_progress();
        self.world.run(self.network_time(), |_| false);
        self.end_progress(&progress)?;
        let left = self.check_records()?;
        let stores = self.world.cluster.stores();
        let chunks: usize = stores.iter().map(|store| store.chunks().count()).sum();
        if left.nodes.len() > 1 || chunks > 0 {
            let text = format!("{chunks} chunks are left of {left:?}\n");
            return Err(failure(FailureKind::Damage, text));
        }
        Ok(())
    }
}
