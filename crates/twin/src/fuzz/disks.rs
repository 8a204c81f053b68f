//! The disks of servers, and how servers with disks end.

use super::burst::{Absence, Burst};
use crate::cluster::{DiskConfig, Ending};
use crate::random::Random;
use futago_base::{Duration, ServerId};
use futago_store::Sync;

/// So many of 1,000 scenarios have servers with disks.
const DISKS_PERMILLE: u32 = 300;
/// So many of 1,000 of those have losses of power.
const POWER_PERMILLE: u32 = 700;
/// How long the power is out, at most.
const OUTAGE_MAX: Duration = Duration::from_secs(5);

/// In some scenarios servers have disks. Their files are so small that they are cleaned.
pub fn draw_disks(random: &mut Random) -> Option<DiskConfig> {
    let synchronization_max = *random.pick(&[
        Duration::from_micros(200),
        Duration::from_millis(5),
        Duration::from_millis(20),
        Duration::from_millis(200),
    ]);
    let config = DiskConfig {
        sync: *random.pick(&[Sync::Process, Sync::Always]),
        file_bytes: 200 << random.below(6),
        slack_bytes: 400 << random.below(6),
        direct_bytes: 32 << random.below(8),
        synchronization_max,
        failing_permille: *random.pick(&[0, 0, 5, 20]),
        dropping_permille: 0,
    };
    let has_disks = random.chance(DISKS_PERMILLE);
    let dropping_permille = *random.pick(&[0, 0, 20, 50]);
    has_disks.then_some(DiskConfig {
        dropping_permille,
        ..config
    })
}

/// Has the power of servers fail. If that may undo what clients have seen, in bursts of its own
/// behind all others, unless `after` has bursts in which a server loses all that it held.
pub fn draw_losses(
    random: &mut Random,
    sync: Sync,
    servers: u16,
    clients: usize,
    bursts: &mut Vec<Burst>,
    after: Vec<Burst>,
) {
    let is_drawn = random.chance(POWER_PERMILLE);
    match sync {
        Sync::Always if is_drawn => draw_power(random, servers, bursts),
        Sync::Process if is_drawn && after.is_empty() => {
            bursts.extend(draw_outages(random, servers, clients));
        }
        _ => {}
    }
    bursts.extend(after);
}

/// Has the power of a server fail, or that of all, in bursts whose servers do not stop otherwise.
fn draw_power(random: &mut Random, servers: u16, bursts: &mut [Burst]) {
    for _ in 0..=random.below(3) {
        let burst = &mut bursts[random.below(bursts.len() as u64) as usize];
        let absences = draw_outage(random, servers);
        if burst.absences.is_empty() {
            burst.absences = absences;
        }
    }
}

/// Bursts in and after which losses of power undo what was not synchronized.
fn draw_outages(random: &mut Random, servers: u16, clients: usize) -> Vec<Burst> {
    let number = 1 + random.below(3);
    let bursts = (0..number).map(|_| Burst {
        absences: draw_outage(random, servers),
        ..Burst::draw_around(random, servers, clients)
    });
    bursts.collect()
}

fn draw_outage(random: &mut Random, servers: u16) -> Vec<Absence> {
    let one = random.below(u64::from(servers)) as u16;
    let is_of_all = random.chance(400);
    let latest: u64 = *random.pick(&[1_000_000, 20_000_000, 500_000_000]);
    let from = Duration(random.below(latest));
    let to = Duration(from.0 + random.below(OUTAGE_MAX.0));
    let all = (0..servers).filter(|&server| is_of_all || server == one);
    let absence = |server| Absence {
        server: ServerId(server),
        from,
        to: Duration(to.0 + u64::from(server)),
        ending: Ending::Power,
    };
    all.map(absence).collect()
}
