//! What the host was like while something was measured on it.

use super::handover::handover_ns;
use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use std::{fs, thread, time::Instant};

/// Cores are as far from each other as they were if a line takes as long as it did, but for such a factor. It is six between the two
/// places that were seen, and a tenth between measurements of one place.
const SAME_PLACE: f64 = 1.5;
/// More of the cores' time than this, taken by others, changes what is measured.
const OTHERS_MAX_PERCENT: f64 = 10.0;

/// What the host was like during a phase.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Surroundings {
    /// What a line took from core to core, in nanoseconds, before the phase and after it; `None` with one core.
    pub handover_ns: [Option<f64>; 2],
    /// How much of the cores' time went to other programs and to other virtual machines, in percent.
    pub others_percent: f64,
}

impl Surroundings {
    /// Whether cores were all the time as far from each other as where a line takes so long, and others let them be.
    pub fn are_like(&self, handover_ns: Option<f64>) -> bool {
        let is_like = |ns: f64| {
            let factor = handover_ns.map_or(1.0, |like_ns| ns / like_ns);
            (1.0 / SAME_PLACE..=SAME_PLACE).contains(&factor)
        };
        let mut known = self.handover_ns.into_iter().flatten();
        known.all(is_like) && self.others_percent <= OTHERS_MAX_PERCENT
    }
}

/// What a line takes from core to core where they have been most often, in nanoseconds.
pub fn most_often_ns(surroundings: &[Surroundings]) -> Option<f64> {
    let all = surroundings.iter().flat_map(|one| one.handover_ns);
    let mut all: Vec<f64> = all.flatten().collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// Looks at the surroundings while something is measured.
pub struct Watch {
    handover_ns: Option<f64>,
    began: Instant,
    idle_ticks: u64,
}

impl Watch {
    /// The measurement begins after this.
    pub fn begin() -> Self {
        Self {
            handover_ns: handover_ns(),
            idle_ticks: idle_ticks(),
            began: Instant::now(),
        }
    }

    /// The measurement has ended, in which it has had so much of the cores' time itself.
    pub fn end(self, own_ns: u64) -> Surroundings {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let all_ns = self.began.elapsed().as_nanos() as f64 * cores as f64;
        let idle = idle_ticks().saturating_sub(self.idle_ticks) as f64;
        let idle_ns = idle * 1e9 / clock_ticks_per_second() as f64;
        let others_ns = (all_ns - idle_ns - own_ns as f64).max(0.0);
        Surroundings {
            handover_ns: [self.handover_ns, handover_ns()],
            others_percent: others_ns / all_ns * 100.0,
        }
    }
}

/// How long all cores have had nothing to do since the host's start, in ticks (proc_stat(5): `idle` and `iowait`); 0 if the system
/// does not tell.
fn idle_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default();
    let idle = all.split_whitespace().skip(4).take(2);
    idle.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surroundings_are_alike_if_cores_are_as_far_apart_and_nobody_else_works() {
        let surroundings = |handover_ns: [f64; 2], others_percent| Surroundings {
            handover_ns: handover_ns.map(Some),
            others_percent,
        };
        let like = Some(28.0);
        assert!(surroundings([27.0, 30.0], 3.0).are_like(like));
        assert!(!surroundings([27.0, 165.0], 3.0).are_like(like));
        assert!(!surroundings([9.0, 27.0], 3.0).are_like(like));
        assert!(!surroundings([27.0, 27.0], 30.0).are_like(like));
        assert!(surroundings([27.0, 165.0], 3.0).are_like(None));
        let of_one_core = Surroundings {
            handover_ns: [None; 2],
            others_percent: 3.0,
        };
        assert!(of_one_core.are_like(like));
    }
}
