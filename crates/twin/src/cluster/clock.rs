//! The wall clocks of simulated parties, which may step. What never steps is the time of the world.

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

    /// What it shows.
    pub fn read(self, now: Time) -> Time {
        let shown = now + AHEAD;
        Time(shown.0.saturating_add_signed(self.stepped_ns))
    }

    /// What a party's clocks show.
    pub fn moment(self, now: Time) -> Moment {
        Moment {
            steady: now,
            stamp: self.read(now),
        }
    }
}
