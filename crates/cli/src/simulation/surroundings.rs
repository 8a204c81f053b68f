//! The state of the host during a measurement.

use super::{computation::computation_ns, handover::handover_ns};
use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Cores are as far from each other as they were if a line takes as long as it did, but for such a
/// factor. It is six between the two places that were seen, and a tenth between measurements of one
/// place.
const SAME_PLACE: f64 = 1.5;
/// A core that takes so many times as long for a computation as it usually does is shared with
/// another tenant: it takes 1.2 to 1.4 times as long then, and otherwise hardly differs.
const SHARED: f64 = 1.1;
/// A larger share of the cores' time for other processes changes the measurements.
const OTHERS_MAX_PERCENT: f64 = 10.0;
/// The least number of measurements that count.
const COUNTED_MIN: usize = 4;
/// The longest wait for unshared cores. Other processes use them for tenths of seconds to seconds.
const AWAITED: Duration = Duration::from_millis(200);

/// The state of the host during a phase.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Surroundings {
    /// The time of a cache line from core to core, in nanoseconds, before and after the phase;
    /// `None` with one core.
    pub handover_ns: [Option<f64>; 2],
    /// The time of a computation on the slowest core, in nanoseconds, before and after the phase.
    pub computation_ns: [f64; 2],
    /// How much of the cores' time went to other programs and to other virtual machines, in
    /// percent.
    pub others_percent: f64,
}

/// The usual state of the host; measurements count if they were made in it. An unknown figure does
/// not matter.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Usual {
    /// The time of a cache line from core to core, in nanoseconds.
    pub handover_ns: Option<f64>,
    /// The time of a computation on an unshared core, in nanoseconds.
    pub computation_ns: Option<f64>,
}

impl Surroundings {
    /// The distance to the usual state: at most 1 if the cores were as far apart and as fast, and
    /// other processes did not use them.
    fn strangeness(&self, usual: Usual) -> f64 {
        let factor = |ns: f64, usual: Option<f64>| usual.map_or(1.0, |usual| ns / usual);
        let places = self.handover_ns.into_iter().flatten().map(|ns| {
            let factor = factor(ns, usual.handover_ns);
            factor.max(1.0 / factor) / SAME_PLACE
        });
        let speeds = self.computation_ns.into_iter();
        let speeds = speeds.map(|ns| factor(ns, usual.computation_ns) / SHARED);
        let others = self.others_percent / OTHERS_MAX_PERCENT;
        places.chain(speeds).fold(others, f64::max)
    }
}

impl Usual {
    /// The median distance of the cores, and the speed of the fastest quarter, because other
    /// processes may share the cores most of the time.
    pub fn of(surroundings: &[Surroundings]) -> Self {
        let all = || surroundings.iter();
        Self {
            handover_ns: quantile(all().flat_map(|one| one.handover_ns).flatten(), 0.5),
            computation_ns: quantile(all().flat_map(|one| one.computation_ns), 0.25),
        }
    }

    /// How many of these are like the usual ones.
    pub fn count_like(self, surroundings: &[Surroundings]) -> usize {
        let strangeness = surroundings.iter().map(|one| one.strangeness(self));
        strangeness
            .filter(|strangeness| *strangeness <= 1.0)
            .count()
    }

    /// The measurements that count: all in the usual state and, if those are too few, the nearest
    /// ones up to the least number.
    pub fn counted(self, surroundings: &[Surroundings]) -> Vec<bool> {
        let strangeness: Vec<f64> = surroundings
            .iter()
            .map(|one| one.strangeness(self))
            .collect();
        let mut sorted = strangeness.clone();
        sorted.sort_by(f64::total_cmp);
        let last = COUNTED_MIN.min(sorted.len()).checked_sub(1);
        let most = last.map_or(1.0, |last| sorted[last].max(1.0));
        strangeness.into_iter().map(|one| one <= most).collect()
    }
}

/// A quantile of some values.
fn quantile(values: impl Iterator<Item = f64>, part: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * part) as usize).copied()
}

/// The time of a computation once the cores are unshared, or at the end of the longest wait for
/// that. `meanwhile` runs before each attempt.
fn unshared_computation_ns(
    mut meanwhile: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    static FASTEST_NS: Mutex<f64> = Mutex::new(f64::INFINITY);
    let mut fastest_ns = FASTEST_NS.lock().unwrap_or_else(PoisonError::into_inner);
    let began = Instant::now();
    loop {
        meanwhile()?;
        let took_ns = computation_ns();
        *fastest_ns = fastest_ns.min(took_ns);
        if took_ns < *fastest_ns * SHARED || began.elapsed() >= AWAITED {
            return Ok(took_ns);
        }
    }
}

/// Looks at the surroundings while something is measured.
pub struct Watch {
    handover_ns: Option<f64>,
    computation_ns: f64,
    began: Instant,
    idle_ticks: u64,
}

impl Watch {
    /// The measurement begins after this: when the cores are as fast as this process has seen them,
    /// or as late as it waits for that, and within a millisecond of something that is done again
    /// and again until then.
    ///
    /// # Errors
    /// Those of what is done meanwhile.
    pub fn begin(meanwhile: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Self> {
        Ok(Self {
            computation_ns: unshared_computation_ns(meanwhile)?,
            handover_ns: handover_ns(),
            idle_ticks: idle_ticks(),
            began: Instant::now(),
        })
    }

    /// The measurement has ended, in which it has had so much of the cores' time itself.
    pub fn end(self, own_ns: u64) -> Surroundings {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let all_ns = self.began.elapsed().as_nanos() as f64 * cores as f64;
        let idle = idle_ticks().saturating_sub(self.idle_ticks) as f64;
        let idle_ns = idle * 1e9 / clock_ticks_per_second() as f64;
        let others_ns = (all_ns - idle_ns - own_ns as f64).max(0.0);
        Surroundings {
            computation_ns: [self.computation_ns, computation_ns()],
            handover_ns: [self.handover_ns, handover_ns()],
            others_percent: others_ns / all_ns * 100.0,
        }
    }
}

/// How long all cores have had nothing to do since the host's start, in ticks (proc_stat(5): `idle`
/// and `iowait`); 0 if the system does not tell.
fn idle_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default();
    let idle = all.split_whitespace().skip(4).take(2);
    idle.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Usual = Usual {
        handover_ns: Some(28.0),
        computation_ns: Some(50.0),
    };

    fn surroundings(handover_ns: [f64; 2], computation_ns: [f64; 2]) -> Surroundings {
        Surroundings {
            handover_ns: handover_ns.map(Some),
            computation_ns,
            others_percent: 3.0,
        }
    }

    #[test]
    fn surroundings_are_alike_if_cores_are_as_far_apart_and_as_fast_and_nobody_else_works() {
        let are_like = |surroundings: Surroundings| USUAL.count_like(&[surroundings]) == 1;
        let usually = surroundings([27.0, 30.0], [49.0, 51.0]);
        assert!(are_like(usually));
        for handover_ns in [[27.0, 165.0], [9.0, 27.0]] {
            assert!(!are_like(surroundings(handover_ns, [50.0; 2])));
        }
        for computation_ns in [[50.0, 90.0], [65.0, 50.0]] {
            assert!(!are_like(surroundings([28.0; 2], computation_ns)));
        }
        assert!(!are_like(Surroundings {
            others_percent: 30.0,
            ..usually
        }));
        assert!(are_like(Surroundings {
            handover_ns: [None; 2],
            ..usually
        }));
        let strange = surroundings([27.0, 165.0], [50.0, 90.0]);
        assert_eq!(Usual::default().count_like(&[strange]), 1);
    }

    #[test]
    fn the_nearest_count_if_those_in_like_surroundings_are_too_few() {
        let seen =
            [50.0, 90.0, 80.0, 51.0, 70.0, 60.0].map(|ns| surroundings([28.0; 2], [50.0, ns]));
        let counted = USUAL.counted(&seen);
        assert_eq!(counted, [true, false, false, true, true, true]);
        assert_eq!(USUAL.counted(&seen[..2]), [true, true]);
        assert_eq!(USUAL.counted(&[seen[0]; 6]), [true; 6]);
        assert!(USUAL.counted(&[]).is_empty());
    }

    #[test]
    fn cores_are_usually_where_they_are_most_often_and_as_fast_as_in_a_quarter_of_all_cases() {
        let seen = [
            surroundings([28.0, 28.0], [50.0, 90.0]),
            surroundings([28.0, 165.0], [90.0, 90.0]),
            surroundings([28.0, 165.0], [50.0, 51.0]),
        ];
        let usual = Usual::of(&seen);
        assert_eq!(usual.handover_ns, Some(28.0));
        assert_eq!(usual.computation_ns, Some(50.0));
    }
}
