//! A scenario: drawn from a seed, or reduced from such a one.

use super::Step;
use super::burst::{Absence, Burst, ClockStep, Restart, Stop};
use super::disks::{draw_disks, draw_losses};
use crate::cluster::{Defect, DiskConfig, Ending, Faults, Party};
use crate::random::Random;
use futago_base::{Duration, Incarnation, ServerId};
use futago_driver::AdmissionConfig;
use futago_store::Sync;

/// A whole scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The seed; it draws the fates of messages too.
    pub seed: u64,
    /// Number of servers.
    pub servers: u16,
    /// Number of clients.
    pub clients: usize,
    /// Directories up to this far below the root are spread over the servers.
    pub spread_depth: u16,
    /// A bucket with more entries than this splits.
    pub split_entries: u64,
    /// The memory of each server, in bytes.
    pub memory_bytes: u64,
    /// How many nodes each client keeps under leases.
    pub leases_max: Vec<usize>,
    /// The contact server of each client that takes leases.
    pub contacts: Vec<Option<ServerId>>,
    /// How long a node is not leased again after a recall.
    pub lease_pause: Duration,
    /// Whether clients with leases cache data that they have read; otherwise they ask the servers
    /// again.
    pub keeps_data: bool,
    /// Whether clients read from each other's caches.
    pub shares_caches: bool,
    /// How clients with leases keep what they write.
    pub write_back: WriteBack,
    /// How many entries clients list with one request at least.
    pub listed_at_once: u32,
    /// How many requests each server takes on at a time.
    pub admission: AdmissionConfig,
    /// The disks of the servers, if they have some.
    pub disks: Option<DiskConfig>,
    /// The bursts, one after the other. Between them everything comes to rest.
    pub bursts: Vec<Burst>,
    /// Whether some new files are released, and a client restores those whose data is wanted.
    pub releases: bool,
    /// The mistake that is planted.
    pub defect: Option<Defect>,
}

/// How clients keep what they write under exclusive leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// How much a client keeps before it sends, in bytes; 0 if it sends all at once.
    pub dirty_bytes_max: u64,
    /// With which write to a file it asks for an exclusive lease.
    pub exclusive_after: u32,
}

const LEASE_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Wall clocks step within this time, and by this much.
const STEP_MAX: Duration = Duration::from_millis(500);
const HOUR_NS: i64 = 3_600_000_000_000;
/// Half a lease.
const NEAR_STEP_NS: i64 = 4_000_000_000;
const FAR_STEPS: ClockSteps = ClockSteps {
    permille: 300,
    by_ns: [HOUR_NS, -HOUR_NS],
};
const NEAR_STEPS: ClockSteps = ClockSteps {
    permille: 150,
    by_ns: [NEAR_STEP_NS, -NEAR_STEP_NS],
};
const LOSS_PERMILLE: u32 = 150;
const RELEASING_PERMILLE: u32 = 250;
const CYCLING_PERMILLE: u32 = 2;
const CONTENDING_PERMILLE: u32 = 200;
const LOCKING_PERMILLE: u32 = 100;
const SHARING_PERMILLE: u32 = 800;
const STOP_MAX: Duration = Duration::from_secs(4);
/// How long a server is away that goes on with what it had, at most, and when that begins.
const ABSENT_MAX: Duration = Duration::from_secs(12);
const ABSENT_FROM_MAX: Duration = Duration::from_secs(2);
const AWAY_MAX: Duration = Duration::from_secs(12);
const AGAIN_MAX: Duration = Duration::from_secs(4);

impl Scenario {
    /// More memory than any scenario fills, in bytes.
    pub const MEMORY_UNLIMITED: u64 = 1 << 40;

    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Self {
        let [mut random, mut leases, mut reading, mut rereading] =
            [2, 4, 5, 7].map(|of| Random::new(seed, of));
        let servers = *random.pick(&[1, 2, 2, 3, 4, 4, 5, 8]);
        let clients = 1 + random.below(4) as usize;
        let mut bursts = draw_usual(&mut random, servers, clients);
        draw_reads(&mut reading, &mut rereading, clients, &mut bursts);
        let spread_depth = random.below(4) as u16;
        let split_entries = *random.pick(&[2, 4, 4, 8]);
        let memory_bytes = draw_memory(&mut random);
        bursts.extend(draw_rare(seed, servers, clients, memory_bytes));
        let lossy = draw_loss(seed, servers, clients, memory_bytes);
        let disks = draw_disks(&mut Random::new(seed, 26));
        // The buffered writes of a session are lost with it, so the content of files would be
        // unknown.
        let buffers_writes = memory_bytes == Self::MEMORY_UNLIMITED && lossy.is_empty();
        let write_back = WriteBack::draw(&mut Random::new(seed, 6), buffers_writes);
        let lossless = bursts.len();
        bursts.extend(lossy);
        FAR_STEPS.draw(&mut Random::new(seed, 14), servers, clients, &mut bursts);
        draw_absences(&mut Random::new(seed, 22), servers, &mut bursts[..lossless]);
        // After a loss, everything must work that is new.
        if let Some(disks) = disks.filter(|_| memory_bytes == Self::MEMORY_UNLIMITED) {
            let mut power = Random::new(seed, 27);
            let after = bursts.split_off(lossless);
            draw_losses(&mut power, disks.sync, servers, clients, &mut bursts, after);
        }
        NEAR_STEPS.draw(&mut Random::new(seed, 28), servers, clients, &mut bursts);
        let contacts = draw_contacts(&mut Random::new(seed, 19), servers, clients);
        let shared = draw_shared(seed, servers, &contacts);
        let is_lossless = bursts.len() == lossless;
        bursts.splice(lossless..lossless, shared);
        let (keeps_data, leases_max) = (rereading.chance(500), draw_leases(&mut leases, clients));
        let readers = leases_max.iter().filter(|&&most| most > 0).count();
        let sharing = Random::new(seed, 31);
        let sharing = draw_sharing(sharing, servers, clients, keeps_data && readers > 1);
        let shares_caches = !sharing.is_empty();
        bursts.splice(lossless..lossless, sharing);
        let is_roomy = memory_bytes == Self::MEMORY_UNLIMITED;
        let releases = is_lossless && is_roomy && Random::new(seed, 21).chance(RELEASING_PERMILLE);
        if releases {
            release_all(&mut bursts);
        }
        Self {
            seed,
            servers,
            clients,
            spread_depth,
            split_entries,
            memory_bytes,
            keeps_data,
            shares_caches,
            write_back,
            listed_at_once: *Random::new(seed, 18).pick(&[1, 3, 8, 1024, 1024]),
            leases_max,
            contacts,
            lease_pause: Duration(leases.below(LEASE_PAUSE_MAX.0)),
            admission: draw_admission(&mut Random::new(seed, 15)),
            disks,
            bursts,
            releases,
            defect: None,
        }
    }

    /// The scenario of a seed with a network that keeps its promises and clients that live.
    pub fn draw_without_faults(seed: u64) -> Self {
        let mut scenario = Self::draw(seed);
        for burst in &mut scenario.bursts {
            burst.faults = Faults::default();
            burst.death = None;
            burst.stop = None;
            burst.clock_steps.clear();
            burst.absences.clear();
        }
        scenario
    }

    /// Whether losses of power in a burst may undo what clients have seen.
    pub fn undoes(&self, burst: &Burst) -> bool {
        let is_power = |absence: &Absence| absence.ending == Ending::Power;
        let is_unsure = |disks: DiskConfig| disks.sync == Sync::Process;
        self.disks.is_some_and(is_unsure) && burst.absences.iter().any(is_power)
    }

    /// The circumstances of the operations, in few words.
    pub fn circumstances(&self) -> String {
        let mut text = format!(
            "{} servers of {} bytes, directories spread to depth {}, buckets split beyond {} entries, \
             leases of clients {:?}, contacts {:?}, again after {} us, room for data: {}, caches shared: {}, {} entries listed, \
             {:?}, {:?}, {:?}, releases files: {}",
            self.servers,
            self.memory_bytes,
            self.spread_depth,
            self.split_entries,
            self.leases_max,
            self.contacts,
            self.lease_pause.0 / 1000,
            self.keeps_data,
            self.shares_caches,
            self.listed_at_once,
            self.write_back,
            self.admission,
            self.disks,
            self.releases
        );
        for (number, burst) in self.bursts.iter().enumerate() {
            let faults = &burst.faults;
            text += &format!("\nburst {number}: ");
            if let Some(death) = burst.death {
                text += &format!(
                    "client {} dies after {} messages, ",
                    death.client, death.after_messages
                );
            }
            text += &format!(
                "{}/1000 lost, {} doubled, {} late, apart: {:?}, paused: {:?}, idle for {} ms",
                faults.lost_permille,
                faults.doubled_permille,
                faults.late_permille,
                faults.partitions,
                faults.pauses,
                burst.idle.0 / 1_000_000
            );
            if !burst.clock_steps.is_empty() {
                text += &format!(", clocks step: {:?}", burst.clock_steps);
            }
            if !burst.absences.is_empty() {
                text += &format!(", stop and go on: {:?}", burst.absences);
            }
            if let Some(stop) = burst.stop {
                text += &format!(", stops and returns empty: {stop:?}");
            }
        }
        text
    }

    /// How many operations clients are to do.
    pub fn operations(&self) -> usize {
        let scripts = self.bursts.iter().flat_map(|burst| &burst.scripts);
        scripts.map(Vec::len).sum()
    }
}

impl WriteBack {
    /// Clients of a server that gets full lose dirty data, and report it late. There they buffer
    /// nothing.
    fn draw(random: &mut Random, buffers_writes: bool) -> Self {
        let most = *random.pick(&[0, 5000, 20_000, 1 << 20, 1 << 20]);
        Self {
            dirty_bytes_max: if buffers_writes { most } else { 0 },
            exclusive_after: 1 + random.below(2) as u32,
        }
    }
}

/// Some new files of the bursts are released.
fn release_all(bursts: &mut [Burst]) {
    let scripts = bursts.iter_mut().flat_map(|burst| &mut burst.scripts);
    scripts.flatten().for_each(Step::release);
}

/// Bursts that every scenario has.
fn draw_usual(random: &mut Random, servers: u16, clients: usize) -> Vec<Burst> {
    let harmless = random.chance(250);
    let bursts = 2 + random.below(5);
    let bursts = (0..bursts).map(|_| Burst::draw(random, servers, clients, harmless));
    bursts.collect()
}

/// Bursts in which most operations read.
fn draw_reads(
    reading: &mut Random,
    rereading: &mut Random,
    clients: usize,
    bursts: &mut Vec<Burst>,
) {
    for _ in 0..reading.below(4) {
        bursts.push(Burst::draw_reading(reading, clients));
    }
    for _ in 0..rereading.below(3) {
        bursts.push(Burst::draw_rereading(rereading, clients));
    }
}

/// Bursts that not every scenario has.
fn draw_rare(seed: u64, servers: u16, clients: usize, memory_bytes: u64) -> Vec<Burst> {
    let [
        mut moving,
        mut appending,
        mut absent,
        mut missed,
        mut watched,
        mut cycling,
        mut contending,
        mut locking,
    ] = [9, 10, 8, 11, 12, 16, 24, 25].map(|of| Random::new(seed, of));
    let mut bursts = Vec::new();
    if moving.chance(250) {
        bursts.push(Burst::draw_planting(&mut moving, clients));
        bursts.push(Burst::draw_moving(&mut moving, servers, clients));
    }
    // Where a server is full, it is open how much of each of many appends has happened.
    if memory_bytes == Scenario::MEMORY_UNLIMITED && appending.chance(60) {
        bursts.push(Burst::draw_appending(&mut appending, clients));
    }
    if memory_bytes == Scenario::MEMORY_UNLIMITED && cycling.chance(CYCLING_PERMILLE) {
        bursts.push(Burst::draw_cycling(&mut cycling, clients));
    }
    if clients > 1 && watched.chance(350) {
        bursts.push(Burst::draw_watched(&mut watched, servers, clients));
    }
    if servers > 1 && missed.chance(300) {
        bursts.push(Burst::draw_missed(&mut missed, servers, clients));
    }
    if clients > 1 && contending.chance(CONTENDING_PERMILLE) {
        bursts.push(Burst::draw_planting(&mut contending, clients));
        bursts.push(Burst::draw_contending(&mut contending, clients));
    }
    if clients > 1 && locking.chance(LOCKING_PERMILLE) {
        bursts.push(Burst::draw_locking(&mut locking, clients));
    }
    if absent.chance(350) {
        bursts.push(Burst::draw_absent(&mut absent, servers, clients));
    }
    bursts
}

/// In many scenarios clients have contact servers, mostly the same one.
fn draw_contacts(random: &mut Random, servers: u16, clients: usize) -> Vec<Option<ServerId>> {
    let has_contacts = servers > 1 && random.chance(600);
    let common = random.below(u64::from(servers)) as u16;
    let mut draw = || {
        let own = random.below(u64::from(servers)) as u16;
        ServerId(if random.chance(850) { common } else { own })
    };
    let contacts = core::iter::repeat_with(|| has_contacts.then(&mut draw));
    contacts.take(clients).collect()
}

/// Bursts in which a contact server is cut off from the others.
fn draw_shared(seed: u64, servers: u16, contacts: &[Option<ServerId>]) -> Option<Burst> {
    let mut random = Random::new(seed, 20);
    let contact = contacts.first().copied().flatten()?;
    let draws = contacts.len() > 1 && random.chance(600);
    draws.then(|| Burst::draw_shared(&mut random, servers, contacts.len(), contact))
}

/// Bursts in which clients read from each other's caches.
fn draw_sharing(mut random: Random, servers: u16, clients: usize, may_share: bool) -> Vec<Burst> {
    let shares = may_share && random.chance(SHARING_PERMILLE);
    let bursts = if shares { 1 + random.below(3) } else { 0 };
    let draw = |_| Burst::draw_sharing(&mut random, servers, clients);
    (0..bursts).map(draw).collect()
}

/// In some scenarios, servers stop and go on with what they had.
fn draw_absences(random: &mut Random, servers: u16, bursts: &mut [Burst]) {
    if !random.chance(300) {
        return;
    }
    for _ in 0..=random.below(3) {
        let burst = random.below(bursts.len() as u64) as usize;
        let from = Duration(random.below(ABSENT_FROM_MAX.0));
        bursts[burst].absences = vec![Absence {
            server: ServerId(random.below(u64::from(servers)) as u16),
            from,
            to: Duration(from.0 + random.below(ABSENT_MAX.0)),
            ending: Ending::Process,
        }];
    }
}

/// The steps of wall clocks that some scenarios have.
struct ClockSteps {
    /// So many of 1,000 scenarios have them.
    permille: u32,
    by_ns: [i64; 2],
}

impl ClockSteps {
    fn draw(&self, random: &mut Random, servers: u16, clients: usize, bursts: &mut [Burst]) {
        if !random.chance(self.permille) {
            return;
        }
        for _ in 0..=random.below(3) {
            let party = if random.chance(500) {
                Party::Server(ServerId(random.below(u64::from(servers)) as u16))
            } else {
                Party::Client(random.below(clients as u64) as usize)
            };
            let burst = random.below(bursts.len() as u64) as usize;
            bursts[burst].clock_steps.push(ClockStep {
                party,
                at: Duration(random.below(STEP_MAX.0)),
                by_ns: *random.pick(&self.by_ns),
            });
        }
    }
}

/// Often so few requests at a time that servers ask clients to try again.
fn draw_admission(random: &mut Random) -> AdmissionConfig {
    let usual = AdmissionConfig::default();
    AdmissionConfig {
        session_max: *random.pick(&[2, 4, usual.session_max]),
        total_max: *random.pick(&[2, 3, 8, usual.total_max]),
        ..usual
    }
}

/// Bursts in and after which a server has lost all that it held.
fn draw_loss(seed: u64, servers: u16, clients: usize, memory_bytes: u64) -> Vec<Burst> {
    let mut random = Random::new(seed, 13);
    let is_limited = memory_bytes < Scenario::MEMORY_UNLIMITED;
    if servers == 1 || is_limited || !random.chance(LOSS_PERMILLE) {
        return Vec::new();
    }
    let from = Duration(random.below(STOP_MAX.0));
    let stop = Stop {
        server: ServerId(random.below(u64::from(servers)) as u16),
        from,
        to: Duration(from.0 + random.below(AWAY_MAX.0)),
        incarnation: Incarnation(random.next()),
        again: None,
    };
    let stop = stop.drawn_again(&mut Random::new(seed, 17));
    let planting = Burst::draw_planting(&mut random, clients);
    let lossy = Burst {
        stop: Some(stop),
        ..Burst::draw_around(&mut random, servers, clients)
    };
    let after = Burst::draw_around(&mut random, servers, clients);
    let filling = Burst::draw_filling(&mut random, clients);
    let reading = Burst::draw_reading(&mut random, clients);
    vec![planting, filling, lossy, reading, after]
}

impl Stop {
    /// Often the server is restarted once more, mostly within a lease.
    fn drawn_again(self, random: &mut Random) -> Self {
        let restart = Restart {
            at: Duration(self.to.0 + random.below(AGAIN_MAX.0)),
            incarnation: Incarnation(random.next()),
        };
        let again = random.chance(500).then_some(restart);
        Self { again, ..self }
    }
}

/// In every third scenario no client takes leases; else most clients do, some of them more than
/// they have room for.
fn draw_leases(random: &mut Random, clients: usize) -> Vec<usize> {
    let is_leased = random.chance(667);
    let most = || {
        if is_leased {
            *random.pick(&[0, 2, 5, 100, 100, 100])
        } else {
            0
        }
    };
    core::iter::repeat_with(most).take(clients).collect()
}

/// Mostly more than any scenario fills; sometimes so little that servers get full.
fn draw_memory(random: &mut Random) -> u64 {
    if random.chance(150) {
        (10 << 10) + random.below(40 << 10)
    } else {
        Scenario::MEMORY_UNLIMITED
    }
}
