//! A clock that never runs behind the clocks of received messages.

use futago_base::{Duration, Time};
use serde::Serialize;

/// A hybrid clock (Kulkarni et al., OPODIS 2014): the later of the local time and the latest time
/// in a received message. So an effect never has an earlier time than its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HybridClock {
    latest: Time,
}

impl HybridClock {
    /// How far another clock may be ahead before it counts as wrong.
    pub const DRIFT_MAX: Duration = Duration::from_secs(10);

    /// The present time, when the local clock shows `now`.
    pub fn read(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// As [`HybridClock::read`], but later than every earlier result, so that no two decisions of a
    /// server have the same time.
    pub fn advance(&mut self, now: Time) -> Time {
        self.latest = now.max(self.latest + Duration(1));
        self.latest
    }

    /// Adopts the time of a server without a limit. A client trusts the clocks of its servers, and
    /// they judge its timestamps by their own clocks.
    pub fn follow(&mut self, other: Time) {
        self.latest = self.latest.max(other);
    }

    /// Adopts the time of a message. Returns false and ignores a time that is too far ahead, which
    /// would drag all clocks with it.
    pub fn observe(&mut self, other: Time, now: Time) -> bool {
        let believed = other.since(now) <= Self::DRIFT_MAX;
        if believed {
            self.latest = self.latest.max(other);
        }
        believed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_never_before_its_cause() {
        let mut clock = HybridClock::default();
        assert!(clock.observe(Time(900), Time(100)));
        assert_eq!(clock.read(Time(101)), Time(900));
        assert_eq!(clock.read(Time(1000)), Time(1000));
        assert_eq!(clock.read(Time(999)), Time(1000));
        assert_eq!(clock.advance(Time(999)), Time(1001));
        assert_eq!(clock.advance(Time(2000)), Time(2000));
    }

    #[test]
    fn a_client_adopts_the_time_of_its_servers() {
        let mut clock = HybridClock::default();
        clock.follow(Time(u64::MAX / 2));
        assert_eq!(clock.read(Time(100)), Time(u64::MAX / 2));
    }

    #[test]
    fn a_clock_far_ahead_is_ignored() {
        let mut clock = HybridClock::default();
        let absurd = Time(100) + HybridClock::DRIFT_MAX + Duration(1);
        assert!(!clock.observe(absurd, Time(100)));
        assert_eq!(clock.read(Time(101)), Time(101));
    }
}
