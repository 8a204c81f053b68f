//! A clock that never runs behind what others have shown.

use futago_base::{Duration, Time};
use serde::Serialize;

/// A hybrid clock (Kulkarni et al., OPODIS 2014): the local time, or the latest time that a message
/// has brought if that is later. An effect so never carries an earlier time than its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HybridClock {
    latest: Time,
}

impl HybridClock {
    /// How far another clock may be ahead before it is taken to be wrong.
    pub const DRIFT_MAX: Duration = Duration::from_secs(10);

    /// The time to act at and to send along, when the local clock says `now`.
    pub fn read(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// As [`HybridClock::read`], and later than any time before: two decisions of a server are never of one moment.
    pub fn advance(&mut self, now: Time) -> Time {
        self.latest = now.max(self.latest + Duration(1));
        self.latest
    }

    /// Learns the time of a server, whatever it is: a client is wrong beside its servers, not they
    /// beside it. They judge its stamps by their own clocks.
    pub fn follow(&mut self, other: Time) {
        self.latest = self.latest.max(other);
    }

    /// Learns the time that a message brought. Returns whether it was believed: a clock too far
    /// ahead would drag all others with it.
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
    fn a_client_follows_its_servers() {
        let mut clock = HybridClock::default();
        clock.follow(Time(u64::MAX / 2));
        assert_eq!(clock.read(Time(100)), Time(u64::MAX / 2));
    }

    #[test]
    fn a_clock_far_ahead_is_not_believed() {
        let mut clock = HybridClock::default();
        let absurd = Time(100) + HybridClock::DRIFT_MAX + Duration(1);
        assert!(!clock.observe(absurd, Time(100)));
        assert_eq!(clock.read(Time(101)), Time(101));
    }
}
