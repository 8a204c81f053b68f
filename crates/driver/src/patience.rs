//! How long to look for messages again and again before going to sleep.

use futago_base::{Duration, Time};
use serde::Serialize;

/// Nobody looks longer than this; a server that is asked 250 times a second never sleeps. Several clients that move 1 MiB at a time
/// wait for 1 ms, and some of the time for 3; to be woken would cost both ends a fifth of what the transfer does.
const LONGEST: Duration = Duration::from_millis(4);
/// How short patience becomes before it becomes nothing.
const SHORTEST: Duration = Duration::from_micros(6);

/// A patience that follows what waiting was good for, in the manner of the halt polling of Linux's
/// KVM (Documentation/virt/kvm/halt-polling.rst): it grows when what was waited for came soon after
/// going to sleep, and shrinks when it came much later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Patience(Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(LONGEST)
    }
}

impl Patience {
    /// How long to look.
    pub const fn span(self) -> Duration {
        self.0
    }

    /// Learns how long it took until there was something.
    pub fn learn(&mut self, waited: Duration) {
        if waited > LONGEST {
            let half = Duration(self.0.0 / 2);
            self.0 = if half < SHORTEST { Duration(0) } else { half };
        } else if waited > self.0 {
            self.0 = self.0.times(2).clamp(SHORTEST, LONGEST);
        }
    }
}

/// A thread that always finds something to do lets others have the processor after so long. The kernel takes it away
/// only at a tick, every 4 ms at 250 Hz, from who has had it for a slice by then; who waits for its turn on the same core
/// would stall for as long. A turn of somebody who finds nothing takes a fortieth of this.
pub const TURN_MAX: Duration = Duration::from_micros(100);

/// Who gets the processor back so late has given it to a process that does not yield, not to one of
/// those that it waits for: these answer or yield sooner, even if several copy a large message each.
pub const OVERRUN: Duration = Duration::from_millis(2);
/// At first a thread that lost time so sleeps for so many times as long, and twice as long each time that
/// this was not enough.
const FIRST_REST: u64 = 2;
/// It sleeps for at most so many times as long as it lost, so that what it loses is little.
const LONGEST_REST: u64 = 64;

/// Whether others need the processor, so that a thread had better sleep at once when it waits: who sleeps is
/// served first when it is woken, who yields last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Crowding {
    until: Time,
    rest: Duration,
}

impl Crowding {
    /// Whether to sleep.
    pub fn is_crowded(&self, now: Time) -> bool {
        now < self.until
    }

    /// Learns how long it took until the thread, which had yielded, had the processor again.
    pub fn yielded(&mut self, lost: Duration, now: Time) {
        if lost <= OVERRUN {
            return;
        }
        let soon_again = now.since(self.until) <= self.rest.times(2);
        let rest = match soon_again {
            true => self.rest.times(2).min(lost.times(LONGEST_REST)),
            false => lost.times(FIRST_REST),
        };
        self.rest = rest;
        self.until = now + rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn long_waits_make_it_give_up_at_once_and_short_ones_bring_it_back() {
        let mut patience = Patience::default();
        for _ in 0..12 {
            patience.learn(LONGEST.times(2));
        }
        assert_eq!(patience.span(), Duration(0));
        let short = Duration(LONGEST.0 - 1);
        for _ in 0..12 {
            patience.learn(short);
        }
        assert_eq!(patience.span(), LONGEST);
        patience.learn(short);
        assert_eq!(
            patience.span(),
            LONGEST,
            "what came in time changes nothing"
        );
    }

    #[test]
    fn who_yields_to_those_it_waits_for_does_not_sleep() {
        let mut crowding = Crowding::default();
        crowding.yielded(OVERRUN, Time(1_000));
        assert!(!crowding.is_crowded(Time(1_000)));
    }

    #[test]
    fn rests_grow_while_they_are_not_enough_and_not_without_end() {
        let (mut crowding, lost) = (Crowding::default(), OVERRUN.times(4));
        let mut now = Time(1_000_000_000);
        let mut rests = Vec::new();
        for _ in 0..8 {
            crowding.yielded(lost, now);
            assert!(crowding.is_crowded(now));
            rests.push(crowding.until.since(now).0 / lost.0);
            now = crowding.until + lost;
        }
        assert_eq!(rests, [2, 4, 8, 16, 32, 64, 64, 64]);
        let later = crowding.until + crowding.rest.times(2) + Duration(1);
        crowding.yielded(lost, later);
        assert_eq!(crowding.until, later + lost.times(FIRST_REST));
    }
}
