//! Concurrent operations of clients, and the faults meanwhile.

use super::step::{Reach, Step};
use super::work::Work;
use crate::cluster::{Ending, Faults, Partition, Party, Pause};
use crate::random::Random;
use futago_base::{Duration, Incarnation, ServerId};
use std::ops::Range;

/// The concurrent scripts of clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// The steps of each client.
    pub scripts: Vec<Vec<Step>>,
    /// The faults meanwhile.
    pub faults: Faults,
    /// The client that dies.
    pub death: Option<Death>,
    /// Whose wall clocks step.
    pub clock_steps: Vec<ClockStep>,
    /// The servers that stop and go on with what they had.
    pub absences: Vec<Absence>,
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

/// A server stops, and goes on with what it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The server.
    pub server: ServerId,
    /// When it stops, since the burst began.
    pub from: Duration,
    /// When it goes on.
    pub to: Duration,
    /// How it stops.
    pub ending: Ending,
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
    /// A restart that ends that life, too.
    pub again: Option<Restart>,
}

/// A server loses all that it holds and begins another life at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// When, since the burst began.
    pub at: Duration,
    /// The name of that life.
    pub incarnation: Incarnation,
}

impl Stop {
    /// When the last life of the server begins, since the burst began.
    pub fn end(&self) -> Duration {
        self.again.map_or(self.to, |again| again.at)
    }
}

/// The most that a message is late, and a partition lasts.
const LATE_MAX: Duration = Duration::from_millis(1000);
const APART_MAX: Duration = Duration::from_millis(1500);
/// Two leases and a half.
const ABSENCE_MAX: Duration = Duration::from_secs(20);
/// A contact server is cut off for longer than a lease, so that homes go on without it.
const LONELY_MIN: Duration = Duration::from_secs(12);
/// Long enough for others to go on, and for the client to look again before it comes back.
const LONG_ABSENCE: Duration = Duration::from_secs(16);
/// So far apart a client may lose its servers: a lease.
const STAGGERED_MAX: Duration = Duration::from_secs(8);
/// Longer than a grace time, after which a truncation returns although a server has missed it.
const MISSED_MIN: Duration = Duration::from_secs(4);
const IDLE_MAX: Duration = Duration::from_secs(4);
/// The same between servers; between a client and a server it would cost the client its session.
const SERVERS_APART_MAX: Duration = Duration::from_secs(6);

impl Burst {
    /// The longest time for which a client cannot reach a server.
    pub fn longest_absence(&self) -> Duration {
        let absences = self.absences.iter();
        let absences = absences.map(|absence| Duration(absence.to.0 - absence.from.0));
        absences.fold(self.faults.longest_absence(), Duration::max)
    }

    pub(super) fn draw(random: &mut Random, servers: u16, clients: usize, harmless: bool) -> Self {
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
    pub(super) fn draw_reading(random: &mut Random, clients: usize) -> Self {
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
    pub(super) fn draw_rereading(random: &mut Random, clients: usize) -> Self {
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

    /// All clients read one file, also from each other, and one of them changes it now and then.
    pub(super) fn draw_sharing(random: &mut Random, servers: u16, clients: usize) -> Self {
        let (writer, file) = (random.below(clients as u64) as usize, random.next() as u16);
        let scripts = (0..clients).map(|client| {
            let step = |_| {
                let changes = client == writer && random.chance(150);
                let work = if changes { Work::Data } else { Work::Reading };
                Step::draw(random, false, work, Reach::Wide).on_file(file)
            };
            (0..15).map(step).collect()
        });
        let scripts = scripts.collect();
        let faults = match random.below(4) {
            0 => Faults::default(),
            1 => draw_absence(random, servers, writer),
            _ => draw_faults(random, servers, clients),
        };
        Self {
            faults,
            idle: Duration(random.below(IDLE_MAX.0)),
            ..Self::without_faults(scripts)
        }
    }

    /// One client makes directories below one another.
    pub(super) fn draw_planting(random: &mut Random, clients: usize) -> Self {
        let mut scripts = vec![Vec::new(); clients];
        let steps = 4 + random.below(8);
        scripts[0] = (0..steps)
            .map(|_| Step::draw(random, true, Work::Planting, Reach::Near))
            .collect();
        Self::without_faults(scripts)
    }

    /// All clients move directories, also below one another.
    pub(super) fn draw_moving(random: &mut Random, servers: u16, clients: usize) -> Self {
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

    /// All clients fill and remove the same directories.
    pub(super) fn draw_contending(random: &mut Random, clients: usize) -> Self {
        let scripts = (0..clients).map(|_| {
            let steps = 3 + random.below(4);
            (0..steps)
                .map(|_| Step::draw(random, false, Work::Contending, Reach::Near))
                .collect()
        });
        Self::without_faults(scripts.collect())
    }

    /// All clients lock one file.
    pub(super) fn draw_locking(random: &mut Random, clients: usize) -> Self {
        let file = random.next() as u16;
        let scripts = (0..clients).map(|_| {
            let steps = 2 + random.below(5);
            let step = |_| Step::draw(random, false, Work::Locking, Reach::Near).on_file(file);
            (0..steps).map(step).collect()
        });
        Self::without_faults(scripts.collect())
    }

    /// A client opens a file, adds to it and closes it, again and again; the others look at it now
    /// and then.
    pub(super) fn draw_appending(random: &mut Random, clients: usize) -> Self {
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

    /// All clients add to files, so that they have data on several servers.
    pub(super) fn draw_filling(random: &mut Random, clients: usize) -> Self {
        let scripts = (0..clients).map(|_| {
            let steps = 2 + random.below(6);
            (0..steps)
                .map(|_| Step::draw(random, false, Work::Appending, Reach::Far))
                .collect()
        });
        Self::without_faults(scripts.collect())
    }

    /// A client opens a file, adds to it and closes it hundreds of times, each of which numbers a
    /// truncation, and cuts it now and then; another one cuts it, too, and the others read it.
    pub(super) fn draw_cycling(random: &mut Random, clients: usize) -> Self {
        let file = random.next() as u16;
        let scripts = (0..clients).map(|client| {
            let (work, steps) = match client {
                0 => (Work::Cycling, 200 + random.below(200)),
                1 => (Work::Cutting, random.below(4)),
                _ => (Work::Reading, random.below(4)),
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
    pub(super) fn draw_absent(random: &mut Random, servers: u16, clients: usize) -> Self {
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
    /// others change it. It may lose the servers one after the other.
    pub(super) fn draw_watched(random: &mut Random, servers: u16, clients: usize) -> Self {
        let file = random.next() as u16;
        let latest = *random.pick(&[1_000_000_000, STAGGERED_MAX.0]);
        let mut script = |client| {
            let (work, steps) = match client {
                0 => (Work::Reading, 8 + random.below(latest / 400_000_000)),
                _ => (Work::Data, 1 + random.below(2 + latest / 1_000_000_000)),
            };
            let step = |_| Step::draw(random, false, work, Reach::Wide).on_file(file);
            (0..steps).map(step).collect()
        };
        let scripts = (0..clients).map(&mut script).collect();
        let mut partitions = |server| {
            let from = Duration(random.below(latest));
            let to = Duration(from.0 + LONG_ABSENCE.0);
            cut_off(0, server..server + 1, from, to).partitions
        };
        let partitions = (0..servers).flat_map(&mut partitions).collect();
        Self {
            scripts,
            faults: Faults {
                partitions,
                ..Faults::default()
            },
            idle: Duration::from_secs(2),
            ..Self::default()
        }
    }

    /// A server cannot reach the others for longer than they wait for it, while clients change and
    /// cut files.
    pub(super) fn draw_missed(random: &mut Random, servers: u16, clients: usize) -> Self {
        let cut_off = random.below(u64::from(servers)) as u16;
        let from = Duration(random.below(300_000_000));
        let to = Duration(from.0 + MISSED_MIN.0 + random.below(MISSED_MIN.0));
        let partitions = apart_from_servers(ServerId(cut_off), servers, from, to);
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

    /// All clients look at one file, and change it now and then. Either messages get lost, or their
    /// contact server cannot reach other servers, often for longer than these wait for it.
    pub(super) fn draw_shared(
        random: &mut Random,
        servers: u16,
        clients: usize,
        contact: ServerId,
    ) -> Self {
        let file = random.next() as u16;
        let is_fast = random.chance(500);
        let steps = if is_fast { 25 } else { 10 } + random.below(10);
        let step = |random: &mut Random| Step::draw(random, false, Work::Sharing, Reach::Near);
        let mut script = |_| (0..steps).map(|_| step(random).on_file(file)).collect();
        let scripts = (0..clients).map(&mut script).collect();
        let (faults, idle) = if is_fast {
            (lossy(random), Duration::from_millis(100))
        } else {
            let faults = draw_lonely(random, servers, clients, contact);
            (faults, Duration::from_secs(3))
        };
        Self {
            scripts,
            faults,
            idle,
            ..Self::default()
        }
    }

    /// All clients work; a server may stop meanwhile.
    pub(super) fn draw_around(random: &mut Random, servers: u16, clients: usize) -> Self {
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

    pub(super) fn without_faults(scripts: Vec<Vec<Step>>) -> Self {
        Self {
            scripts,
            ..Self::default()
        }
    }
}

/// Scripts with many operations on one file. Changes of data by a client whose session ends may
/// happen in part, so such a client does little: an order would be hard to find.
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

/// A server cannot reach the others, and often no client either, for a while that may be longer
/// than they wait for it.
fn draw_lonely(random: &mut Random, servers: u16, clients: usize, lonely: ServerId) -> Faults {
    let from = Duration(1_000_000_000 + random.below(IDLE_MAX.0));
    let to = Duration(from.0 + LONELY_MIN.0 + random.below(ABSENCE_MAX.0 - LONELY_MIN.0));
    let mut partitions = apart_from_servers(lonely, servers, from, to);
    if random.chance(700) {
        let only = lonely.0..lonely.0 + 1;
        let apart = (0..clients).flat_map(|it| cut_off(it, only.clone(), from, to).partitions);
        partitions.extend(apart);
    }
    Faults {
        partitions,
        ..Faults::default()
    }
}

/// Many messages get lost.
fn lossy(random: &mut Random) -> Faults {
    Faults {
        lost_permille: random.below(300) as u32,
        ..Faults::default()
    }
}

/// A server cannot reach the others.
fn apart_from_servers(
    cut_off: ServerId,
    servers: u16,
    from: Duration,
    to: Duration,
) -> Vec<Partition> {
    let others = (0..servers).map(ServerId).filter(|&it| it != cut_off);
    let apart = others.map(|server| Partition {
        one: Party::Server(cut_off),
        other: Party::Server(server),
        from,
        to,
    });
    apart.collect()
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
