//! The clocks of servers and clients.

use futago_base::{Duration, Time};
use rustix::time::{ClockId, clock_gettime};
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

/// The source of time of a server or client. Clones step together.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    wall_ahead_ns: Arc<AtomicI64>,
}

impl Clock {
    /// A monotonic clock that never steps and continues while the host is suspended. It measures
    /// spans.
    pub fn steady(&self) -> Time {
        Time(read_ns(ClockId::Boottime))
    }

    /// The host's wall clock, which may step. It stamps files.
    pub fn wall(&self) -> Time {
        let ahead_ns = self.wall_ahead_ns.load(Ordering::Relaxed);
        Time(read_ns(ClockId::Realtime).saturating_add_signed(ahead_ns))
    }

    /// Steps the wall clock of this value, in nanoseconds, so that tests need not step the host's.
    pub fn step_wall(&self, by_ns: i64) {
        self.wall_ahead_ns.fetch_add(by_ns, Ordering::Relaxed);
    }
}

/// A clock's reading in nanoseconds; 0 before its start.
fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// The time in which a process could run. A process that is stopped, or whose host gives it no
/// core, receives nothing meanwhile, although messages may have arrived. So the missed time does
/// not count for its timeouts.
#[derive(Debug, Default)]
pub(crate) struct AwakeTime {
    /// A reading of the steady clock, and the awake time then.
    origin: (Time, Time),
    missed: Duration,
    looked: Time,
}

/// A process that acts later than this after a deadline was not awake.
const LATE_MAX: Duration = Duration::from_millis(100);

/// The time for receiving messages that have arrived, before a missed deadline expires again.
const TAKING_IN: Duration = Duration::from_millis(50);

impl AwakeTime {
    /// The awake time of a process that goes on where an earlier one had come to `reached`, when
    /// the steady clock reads `steady`. The time between does not count, and the host may have been
    /// started anew meanwhile.
    pub const fn resumed(steady: Time, reached: Time) -> Self {
        Self {
            origin: (steady, reached),
            missed: Duration(0),
            looked: reached,
        }
    }

    /// The awake time when the steady clock reads `steady`. `due` is the latest time at which the
    /// process should have acted.
    pub fn at(&mut self, steady: Time, due: Option<Time>) -> Time {
        let (steady_then, then) = self.origin;
        let now = then + steady.since(steady_then) - self.missed;
        if let Some(due) = due
            && now.since(due) > LATE_MAX
        {
            let resumed = self.looked.max(due - TAKING_IN);
            self.missed = Duration(self.missed.0 + now.since(resumed).0);
            tracing::debug!(missed_ns = now.since(resumed).0, "was not awake");
            self.looked = resumed;
        } else {
            self.looked = self.looked.max(now);
        }
        self.looked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_step_of_the_wall_clock_is_none_of_the_steady_one() {
        let clock = Clock::default();
        let (steady, wall) = (clock.steady(), clock.wall());
        clock.step_wall(-3_600_000_000_000);
        assert!(clock.wall() < wall);
        assert!(clock.steady() >= steady);
    }

    #[test]
    fn time_goes_on_while_a_process_acts_when_it_is_due() {
        let mut awake = AwakeTime::default();
        assert_eq!(awake.at(Time(0) + SECOND, None), Time(0) + SECOND);
        let later = Time(0) + SECOND.times(100);
        assert_eq!(awake.at(later, None), later);
        assert_eq!(awake.at(later + LATE_MAX, Some(later)), later + LATE_MAX);
    }

    #[test]
    fn what_was_due_while_a_process_was_stopped_is_due_after_it_has_looked() {
        let mut awake = AwakeTime::default();
        let start = Time(0) + SECOND.times(100);
        awake.at(start, None);
        let due = start + SECOND;
        let resumed = awake.at(start + SECOND.times(60), Some(due));
        assert_eq!(resumed, due - TAKING_IN);
        let later = awake.at(start + SECOND.times(61), Some(due + SECOND));
        assert_eq!(later, resumed + SECOND);
    }

    #[test]
    fn time_goes_on_where_an_earlier_process_ended() {
        for steady in [Time(0), Time(0) + SECOND.times(900)] {
            let reached = Time(0) + SECOND.times(70);
            let mut awake = AwakeTime::resumed(steady, reached);
            assert_eq!(awake.at(steady, None), reached);
            let later = awake.at(steady + SECOND, Some(reached + SECOND));
            assert_eq!(later, reached + SECOND);
        }
    }

    #[test]
    fn time_does_not_go_back_when_a_process_was_stopped() {
        let mut awake = AwakeTime::default();
        let start = Time(0) + SECOND.times(100);
        awake.at(start, None);
        assert_eq!(awake.at(start + SECOND.times(60), Some(start)), start);
    }
}
