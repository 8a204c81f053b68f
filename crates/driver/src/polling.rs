//! How long a thread polls for messages before it blocks, and when it blocks at once.

use futago_base::{Duration, Time};
use serde::Serialize;

/// The longest time to poll. A server that gets 250 requests a second never blocks. Clients that
/// move 1 MiB at a time wait for 1 ms, and sometimes for 3; a wake-up would cost each end a fifth
/// of the transfer.
const POLL_MAX: Duration = Duration::from_millis(4);
/// The shortest time to poll: a limit below this becomes zero.
const POLL_MIN: Duration = Duration::from_micros(6);

/// An adaptive limit for polling, as the halt polling of Linux's KVM
/// (Documentation/virt/kvm/halt-polling.rst): it grows when a message arrives soon after the thread
/// has blocked, and shrinks when the message arrives much later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SpinLimit(Duration);

impl Default for SpinLimit {
    fn default() -> Self {
        Self(POLL_MAX)
    }
}

impl SpinLimit {
    /// How long to poll.
    pub const fn span(self) -> Duration {
        self.0
    }

    /// Adapts to the time that a message has taken to arrive.
    pub fn learn(&mut self, waited: Duration) {
        if waited > POLL_MAX {
            let half = Duration(self.0.0 / 2);
            self.0 = if half < POLL_MIN { Duration(0) } else { half };
        } else if waited > self.0 {
            self.0 = self.0.times(2).clamp(POLL_MIN, POLL_MAX);
        }
    }
}

/// A busy thread yields the CPU after this time. The kernel preempts a thread only at a tick, every
/// 4 ms at 250 Hz, if its time slice is over by then; a thread that waits for the same core would
/// stall for as long. The slice of a thread that finds no work is about a fortieth of this.
pub const BUSY_MAX: Duration = Duration::from_micros(100);

/// A thread that yields and gets the CPU back after more than this time has lost it to a process
/// that does not yield. A thread of this system answers or yields sooner, even if several of them
/// copy a large message each.
pub const PREEMPTION_MIN: Duration = Duration::from_millis(2);
/// How long a thread blocks instead of polling after it has lost the CPU, in multiples of the time
/// that it has lost. The multiple doubles while the CPU stays contended.
const FIRST_PAUSE: u64 = 2;
/// The largest multiple, so that a thread loses little time to polling.
const LONGEST_PAUSE: u64 = 64;

/// Whether other processes need the CPU. If so, a waiting thread blocks at once: the scheduler runs
/// a thread that wakes up first, and one that has yielded last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contention {
    until: Time,
    pause: Duration,
}

impl Contention {
    /// Whether to block at once.
    pub fn is_contended(&self, now: Time) -> bool {
        now < self.until
    }

    /// Learns how long the thread, which has yielded, did not have the CPU.
    pub fn yielded(&mut self, lost: Duration, now: Time) {
        if lost <= PREEMPTION_MIN {
            return;
        }
        let soon_again = now.since(self.until) <= self.pause.times(2);
        let pause = match soon_again {
            true => self.pause.times(2).min(lost.times(LONGEST_PAUSE)),
            false => lost.times(FIRST_PAUSE),
        };
        self.pause = pause;
        self.until = now + pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn long_waits_bring_the_limit_to_zero_and_short_ones_bring_it_back() {
        let mut limit = SpinLimit::default();
        for _ in 0..12 {
            limit.learn(POLL_MAX.times(2));
        }
        assert_eq!(limit.span(), Duration(0));
        let short = Duration(POLL_MAX.0 - 1);
        for _ in 0..12 {
            limit.learn(short);
        }
        assert_eq!(limit.span(), POLL_MAX);
        limit.learn(short);
        assert_eq!(limit.span(), POLL_MAX, "a message in time changes nothing");
    }

    #[test]
    fn a_thread_that_yields_for_a_short_time_goes_on_polling() {
        let mut contention = Contention::default();
        contention.yielded(PREEMPTION_MIN, Time(1_000));
        assert!(!contention.is_contended(Time(1_000)));
    }

    #[test]
    fn pauses_double_up_to_a_limit_while_the_cpu_is_contended() {
        let (mut contention, lost) = (Contention::default(), PREEMPTION_MIN.times(4));
        let mut now = Time(1_000_000_000);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            contention.yielded(lost, now);
            assert!(contention.is_contended(now));
            pauses.push(contention.until.since(now).0 / lost.0);
            now = contention.until + lost;
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 64, 64]);
        let later = contention.until + contention.pause.times(2) + Duration(1);
        contention.yielded(lost, later);
        assert_eq!(contention.until, later + lost.times(FIRST_PAUSE));
    }
}
