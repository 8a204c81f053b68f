//! What is to happen: drawn from a seed, or what is left of that when it has been made small.

use super::step::{Reach, Step, Work};
use crate::cluster::{Defect, Faults, Partition, Party, Pause};
use crate::random::Random;
use futago_base::{Duration, Incarnation, ServerId};
use futago_driver::AdmissionConfig;
use std::ops::Range;

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
    /// How long a node is not leased again after a recall.
    pub lease_pause: Duration,
    /// Clients with leases have room for data that they have read; without it they ask the servers again.
    pub keeps_data: bool,
    /// How clients with leases keep what they write.
    pub write_back: WriteBack,
    /// How many requests each server takes on at a time.
    pub admission: AdmissionConfig,
    /// What happens, one burst after the other. Between them everything comes to rest.
    pub bursts: Vec<Burst>,
    /// The mistake that is planted.
    pub defect: Option<Defect>,
}

/// How clients keep what they write under exclusive leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// How much a client keeps before it sends, in bytes; 0 if it sends all at once.
    pub unsent_bytes_max: u64,
    /// With which write to a file it asks for an exclusive lease.
    pub exclusive_after: u32,
}

/// What clients do side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// The steps of each client.
    pub scripts: Vec<Vec<Step>>,
    /// What goes wrong meanwhile.
    pub faults: Faults,
    /// Who dies.
    pub death: Option<Death>,
    /// Whose wall clocks step.
    pub clock_steps: Vec<ClockStep>,
    /// The server that stops and returns empty. From then on the reference does not hold.
    pub stop: Option<Stop>,
    /// How long clients do nothing between two steps, at most.
    pub idle: Duration,
}

/// A client dies right after it has sent so many messages of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// The client.
    pub client: usize,
    /// The messages.
    pub after_messages: u64,
}

/// A wall clock steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// Whose, a client by its place in the scenario.
    pub party: Party,
    /// When, since the burst began.
    pub at: Duration,
    /// By how much.
    pub by_ns: i64,
}

/// A server stops, which loses all that it holds, and begins a new life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The server.
    pub server: ServerId,
    /// When it stops, since the burst began.
    pub from: Duration,
    /// When its new life begins.
    pub to: Duration,
    /// The name of that life.
    pub incarnation: Incarnation,
}

/// The most that a message is late, and a partition lasts.
const LATE_MAX: Duration = Duration::from_millis(1000);
const LEASE_PAUSE_MAX: Duration = Duration::from_millis(500);
const APART_MAX: Duration = Duration::from_millis(1500);
/// Two leases and a half.
const ABSENCE_MAX: Duration = Duration::from_secs(20);
/// Long enough for others to go on, and for the client to look again before it comes back.
const LONG_ABSENCE: Duration = Duration::from_secs(16);
/// Longer than a grace time, after which a truncation returns although a server has missed it.
const MISSED_MIN: Duration = Duration::from_secs(4);
/// Wall clocks step within this time, and by this much.
const STEP_MAX: Duration = Duration::from_millis(500);
const HOUR_NS: i64 = 3_600_000_000_000;
const LOSS_PERMILLE: u32 = 150;
const STOP_MAX: Duration = Duration::from_secs(4);
const AWAY_MAX: Duration = Duration::from_secs(12);
const IDLE_MAX: Duration = Duration::from_secs(4);
/// The same between servers; between a client and a server it would cost the client its session.
const SERVERS_APART_MAX: Duration = Duration::from_secs(6);

impl Scenario {
    /// More memory than any scenario fills, in bytes.
    pub const MEMORY_UNLIMITED: u64 = 1 << 40;

    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Self {
        let [mut random, mut leases, mut reading, mut rereading] =
            [2, 4, 5, 7].map(|of| Random::new(seed, of));
        let servers = *random.pick(&[1, 2, 2, 3, 4, 4, 5, 8]);
        let clients = 1 + random.below(4) as usize;
        let harmless = random.chance(250);
        let bursts = 2 + random.below(5);
        let bursts = (0..bursts).map(|_| Burst::draw(&mut random, servers, clients, harmless));
        let mut bursts: Vec<Burst> = bursts.collect();
        for _ in 0..reading.below(4) {
            bursts.push(Burst::draw_reading(&mut reading, clients));
        }
        for _ in 0..rereading.below(3) {
            bursts.push(Burst::draw_rereading(&mut rereading, clients));
        }
        let spread_depth = random.below(4) as u16;
        let split_entries = *random.pick(&[2, 4, 4, 8]);
        let memory_bytes = draw_memory(&mut random);
        bursts.extend(draw_rare(seed, servers, clients, memory_bytes));
        let lossy = draw_loss(seed, servers, clients, memory_bytes);
        // What sessions have kept is lost with them: what files must hold then would be open.
        let keeps_unsent = memory_bytes == Self::MEMORY_UNLIMITED && lossy.is_empty();
        let write_back = WriteBack::draw(&mut Random::new(seed, 6), keeps_unsent);
        bursts.extend(lossy);
        draw_clock_steps(&mut Random::new(seed, 14), servers, clients, &mut bursts);
        Self {
            seed,
            servers,
            clients,
            spread_depth,
            split_entries,
            memory_bytes,
            keeps_data: rereading.chance(500),
            write_back,
            leases_max: draw_leases(&mut leases, clients),
            lease_pause: Duration(leases.below(LEASE_PAUSE_MAX.0)),
            admission: draw_admission(&mut Random::new(seed, 15)),
            bursts,
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
        }
        scenario
    }

    /// What surrounds the operations, in few words.
    pub fn circumstances(&self) -> String {
        let mut text = format!(
            "{} servers of {} bytes, directories spread to depth {}, buckets split beyond {} entries, \
             leases of clients {:?}, again after {} us, room for data: {}, {:?}, {:?}",
            self.servers,
            self.memory_bytes,
            self.spread_depth,
            self.split_entries,
            self.leases_max,
            self.lease_pause.0 / 1000,
            self.keeps_data,
            self.write_back,
            self.admission
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
            if let Some(stop) = burst.stop {
                text += &format!(", stops and returns empty: {stop:?}");
            }
        }
        text
    }

    /// How many operations clients are told to do.
    pub fn operations(&self) -> usize {
        let scripts = self.bursts.iter().flat_map(|burst| &burst.scripts);
        scripts.map(Vec::len).sum()
    }
}

impl WriteBack {
    /// A server that gets full has clients lose what they kept, and tell it late: there they keep
    /// nothing.
    fn draw(random: &mut Random, keeps_unsent: bool) -> Self {
        let most = *random.pick(&[0, 5000, 20_000, 1 << 20, 1 << 20]);
        Self {
            unsent_bytes_max: if keeps_unsent { most } else { 0 },
            exclusive_after: 1 + random.below(2) as u32,
        }
    }
}

impl Burst {
    fn draw(random: &mut Random, servers: u16, clients: usize, harmless: bool) -> Self {
        let sequential = random.chance(300);
        let busy = random.below(clients as u64) as usize;
        let deadly = !harmless && random.chance(350);
        let data = random.chance(300);
        let wide = data || random.chance(500);
        let reach = if wide { Reach::Wide } else { Reach::Near };
        let work = if data { Work::Data } else { Work::Names };
        let scripts = (0..clients).map(|client| {
            let steps = match (sequential, client == busy) {
                (true, true) => 4 + random.below(20),
                (true, false) => 0,
                (false, _) => 1 + random.below(6),
            };
            (0..steps)
                .map(|_| Step::draw(random, sequential, work, reach))
                .collect()
        });
        let scripts: Vec<Vec<Step>> = scripts.collect();
        let death = deadly.then(|| Death {
            client: if sequential {
                busy
            } else {
                random.below(clients as u64) as usize
            },
            after_messages: 1 + random.below(12),
        });
        let faults = if harmless || random.chance(300) {
            Faults::default()
        } else {
            draw_faults(random, servers, clients)
        };
        Self {
            scripts,
            faults,
            death,
            ..Self::default()
        }
    }

    /// One client changes data, the others read it, and nothing goes wrong.
    fn draw_reading(random: &mut Random, clients: usize) -> Self {
        let writer = random.below(clients as u64) as usize;
        let scripts = (0..clients).map(|client| {
            let (work, steps) = if client == writer {
                (Work::Data, 1 + random.below(8))
            } else {
                (Work::Reading, 2 + random.below(8))
            };
            (0..steps)
                .map(|_| Step::draw(random, false, work, Reach::Wide))
                .collect()
        });
        Self::without_faults(scripts.collect())
    }

    /// All clients read one file again and again, and one of them changes it now and then.
    fn draw_rereading(random: &mut Random, clients: usize) -> Self {
        let writer = random.below(clients as u64) as usize;
        let file = random.next() as u16;
        let scripts = (0..clients).map(|client| {
            let steps = 4 + random.below(12);
            let step = |_| {
                let changes = client == writer && random.chance(200);
                let work = if changes { Work::Data } else { Work::Reading };
                Step::draw(random, false, work, Reach::Wide).on_file(file)
            };
            (0..steps).map(step).collect()
        });
        Self::without_faults(scripts.collect())
    }

    /// One client makes directories below one another.
    fn draw_planting(random: &mut Random, clients: usize) -> Self {
        let mut scripts = vec![Vec::new(); clients];
        let steps = 4 + random.below(8);
        scripts[0] = (0..steps)
            .map(|_| Step::draw(random, true, Work::Planting, Reach::Near))
            .collect();
        Self::without_faults(scripts)
    }

    /// All clients move directories, also below one another.
    fn draw_moving(random: &mut Random, servers: u16, clients: usize) -> Self {
        let scripts = (0..clients).map(|_| {
            let steps = 1 + random.below(3);
            (0..steps)
                .map(|_| Step::draw(random, false, Work::Moving, Reach::Near))
                .collect()
        });
        let scripts = scripts.collect();
        let faults = if random.chance(500) {
            Faults::default()
        } else {
            draw_faults(random, servers, clients)
        };
        Self {
            faults,
            ..Self::without_faults(scripts)
        }
    }

    /// A client opens a file, adds to it and closes it, again and again; the others look at it now
    /// and then.
    fn draw_appending(random: &mut Random, clients: usize) -> Self {
        let file = random.next() as u16;
        let scripts = (0..clients).map(|client| {
            let (work, steps) = match client {
                0 => (Work::Appending, 20 + random.below(60)),
                _ => (Work::Reading, random.below(3)),
            };
            let step = |_| Step::draw(random, false, work, Reach::Far).on_file(file);
            (0..steps).map(step).collect()
        });
        let scripts = scripts.collect();
        Self {
            idle: Duration::from_millis(10),
            ..Self::without_faults(scripts)
        }
    }

    /// A client stops, or cannot reach a server, often for longer than a lease, and comes back.
    fn draw_absent(random: &mut Random, servers: u16, clients: usize) -> Self {
        let work = *random.pick(&[Work::Names, Work::Data, Work::Reading]);
        let client = random.below(clients as u64) as usize;
        Self {
            scripts: draw_mixed(random, clients, work, client),
            faults: draw_absence(random, servers, client),
            idle: Duration(random.below(IDLE_MAX.0)),
            ..Self::default()
        }
    }

    /// A client that can reach nobody for longer than a lease reads a file again and again, while
    /// others change it.
    fn draw_watched(random: &mut Random, servers: u16, clients: usize) -> Self {
        let file = random.next() as u16;
        let mut script = |client| {
            let (work, steps) = match client {
                0 => (Work::Reading, 8 + random.below(6)),
                _ => (Work::Data, 1 + random.below(3)),
            };
            let step = |_| Step::draw(random, false, work, Reach::Wide).on_file(file);
            (0..steps).map(step).collect()
        };
        let scripts = (0..clients).map(&mut script).collect();
        let from = Duration(random.below(1_000_000_000));
        let to = Duration(from.0 + LONG_ABSENCE.0);
        Self {
            scripts,
            faults: cut_off(0, 0..servers, from, to),
            idle: Duration::from_secs(2),
            ..Self::default()
        }
    }

    /// A server cannot reach the others for longer than they wait for it, while clients change and
    /// cut files.
    fn draw_missed(random: &mut Random, servers: u16, clients: usize) -> Self {
        let cut_off = random.below(u64::from(servers)) as u16;
        let from = Duration(random.below(300_000_000));
        let to = Duration(from.0 + MISSED_MIN.0 + random.below(MISSED_MIN.0));
        let others = (0..servers).filter(|&server| server != cut_off);
        let apart = others.map(|server| Partition {
            one: Party::Server(ServerId(cut_off)),
            other: Party::Server(ServerId(server)),
            from,
            to,
        });
        let partitions = apart.collect();
        Self {
            scripts: draw_cuts(random, clients),
            faults: Faults {
                partitions,
                ..Faults::default()
            },
            idle: Duration(random.below(500_000_000)),
            ..Self::default()
        }
    }

    /// All clients work; a server may stop meanwhile.
    fn draw_around(random: &mut Random, servers: u16, clients: usize) -> Self {
        let work = *random.pick(&[Work::Names, Work::Names, Work::Data]);
        let scripts = (0..clients).map(|_| {
            let steps = 4 + random.below(10);
            let step = |_| Step::draw(random, false, work, Reach::Wide);
            (0..steps).map(step).collect()
        });
        let scripts = scripts.collect();
        let faults = Faults {
            partitions: Vec::new(),
            ..draw_faults(random, servers, clients)
        };
        Self {
            scripts,
            faults,
            idle: Duration(random.below(2_000_000_000)),
            ..Self::default()
        }
    }

    fn without_faults(scripts: Vec<Vec<Step>>) -> Self {
        Self {
            scripts,
            ..Self::default()
        }
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
    ] = [9, 10, 8, 11, 12].map(|of| Random::new(seed, of));
    let mut bursts = Vec::new();
    if moving.chance(250) {
        bursts.push(Burst::draw_planting(&mut moving, clients));
        bursts.push(Burst::draw_moving(&mut moving, servers, clients));
    }
    // Where a server is full, it is open how much of each of many appends has happened.
    if memory_bytes == Scenario::MEMORY_UNLIMITED && appending.chance(60) {
        bursts.push(Burst::draw_appending(&mut appending, clients));
    }
    if clients > 1 && watched.chance(350) {
        bursts.push(Burst::draw_watched(&mut watched, servers, clients));
    }
    if servers > 1 && missed.chance(300) {
        bursts.push(Burst::draw_missed(&mut missed, servers, clients));
    }
    if absent.chance(350) {
        bursts.push(Burst::draw_absent(&mut absent, servers, clients));
    }
    bursts
}

/// In some scenarios, wall clocks are set an hour forward or back.
fn draw_clock_steps(random: &mut Random, servers: u16, clients: usize, bursts: &mut [Burst]) {
    if !random.chance(300) {
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
            by_ns: *random.pick(&[HOUR_NS, -HOUR_NS]),
        });
    }
}

/// Often so few requests at a time that clients are told to come again.
fn draw_admission(random: &mut Random) -> AdmissionConfig {
    let usual = AdmissionConfig::default();
    AdmissionConfig {
        session_max: *random.pick(&[2, 4, usual.session_max]),
        total_max: *random.pick(&[8, 32, usual.total_max]),
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
    };
    let planting = Burst::draw_planting(&mut random, clients);
    let lossy = Burst {
        stop: Some(stop),
        ..Burst::draw_around(&mut random, servers, clients)
    };
    let after = Burst::draw_around(&mut random, servers, clients);
    vec![planting, lossy, after]
}

/// Scripts that have much to do with one file. What a client has changed in data before its session
/// ends may have happened in part: there it does little, as an order is hard to find.
fn draw_mixed(random: &mut Random, clients: usize, work: Work, absent: usize) -> Vec<Vec<Step>> {
    let file = random.next() as u16;
    let mut script = |client| {
        let steps = match work {
            Work::Data if client == absent => 1 + random.below(2),
            Work::Data => 1 + random.below(3),
            _ => 2 + random.below(6),
        };
        (0..steps)
            .map(|_| {
                let step = Step::draw(random, false, work, Reach::Wide);
                if random.chance(600) {
                    step.on_file(file)
                } else {
                    step
                }
            })
            .collect()
    };
    (0..clients).map(&mut script).collect()
}

/// A client cuts a file, lets it grow and reads it; another one reads it, too.
fn draw_cuts(random: &mut Random, clients: usize) -> Vec<Vec<Step>> {
    let file = random.next() as u16;
    let mut script = |client| {
        let (work, steps) = match client {
            0 => (Work::Cutting, 6 + random.below(8)),
            1 => (Work::Reading, random.below(4)),
            _ => (Work::Reading, 0),
        };
        let step = |_| Step::draw(random, false, work, Reach::Wide).on_file(file);
        (0..steps).map(step).collect()
    };
    (0..clients).map(&mut script).collect()
}

/// In every third scenario nobody takes leases; else most clients do, some of them more than they have room for.
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

fn draw_absence(random: &mut Random, servers: u16, client: usize) -> Faults {
    let from = Duration(random.below(3_000_000_000));
    let to = from.0 + random.below(ABSENCE_MAX.0);
    let to = Duration(to);
    let mut faults = Faults::default();
    let first = random.below(u64::from(servers)) as u16;
    match random.below(3) {
        0 => faults.pauses.push(Pause { client, from, to }),
        1 => faults = cut_off(client, 0..servers, from, to),
        _ => faults = cut_off(client, first..first + 1, from, to),
    }
    faults
}

/// A client cannot reach some servers.
fn cut_off(client: usize, servers: Range<u16>, from: Duration, to: Duration) -> Faults {
    let partitions = servers.map(|server| Partition {
        one: Party::Server(ServerId(server)),
        other: Party::Client(client),
        from,
        to,
    });
    Faults {
        partitions: partitions.collect(),
        ..Faults::default()
    }
}

fn draw_faults(random: &mut Random, servers: u16, clients: usize) -> Faults {
    let mut some = |max: u64| {
        if random.chance(500) {
            random.below(max) as u32
        } else {
            0
        }
    };
    let (lost_permille, doubled_permille, late_permille) = (some(200), some(300), some(300));
    let partitions = (0..random.below(3)).map(|_| {
        let server =
            |random: &mut Random| Party::Server(ServerId(random.below(u64::from(servers)) as u16));
        let from = random.below(20_000_000);
        let one = server(random);
        let (other, longest) = if random.chance(500) {
            (server(random), SERVERS_APART_MAX)
        } else {
            let client = random.below(clients as u64) as usize;
            (Party::Client(client), APART_MAX)
        };
        Partition {
            one,
            other,
            from: Duration(from),
            to: Duration(from + random.below(longest.0)),
        }
    });
    Faults {
        partitions: partitions.collect(),
        lost_permille,
        doubled_permille,
        late_permille,
        late: LATE_MAX,
        pauses: Vec::new(),
    }
}
