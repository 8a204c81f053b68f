//! The wall clocks of simulated parties, which may step. The time of the world never does.

use futago_base::{Duration, Moment, Time};

/// How far all wall clocks are ahead of the time of the world, so that one may be set back.
const AHEAD: Duration = Duration::from_secs(24 * 3600);

/// A wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock {
    stepped_ns: i64,
}

impl WallClock {
    /// Sets it forward or back.
    pub const fn step(&mut self, by_ns: i64) {
        self.stepped_ns += by_ns;
    }

    /// The wall-clock time at the world's time `now`.
    pub fn read(self, now: Time) -> Time {
        let shown = now + AHEAD;
        Time(shown.0.saturating_add_signed(self.stepped_ns))
    }

    /// The times of a party's clocks.
    pub fn moment(self, now: Time) -> Moment {
        Moment {
            steady: now,
            stamp: self.read(now),
        }
    }
}
