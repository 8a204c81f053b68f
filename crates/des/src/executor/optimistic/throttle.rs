use crate::Time;

/// Keeps a partition from running too far ahead.
///
/// A window above the global virtual time shrinks while more than one event in five is taken back
/// and grows otherwise (compare Ferscha, "Probabilistic adaptive direct optimism control in Time
/// Warp", PADS 1995). Apart from it the history is limited: when it is full only the very next
/// event of the whole model may run, which is always possible and always makes room.
#[derive(Debug)]
pub(super) struct Throttle {
    window: Time,
    history_limit: usize,
    /// Totals at the beginning of the sample.
    executed: u64,
    rolled_back: u64,
    /// The farthest that the partition got above the global virtual time in the sample.
    reach: Time,
}

impl Throttle {
    /// Executed events that make a sample: enough to judge by.
    const SAMPLE: u64 = 512;

    pub fn new(history_limit: usize) -> Throttle {
        Throttle {
            window: Time::MAX,
            history_limit,
            executed: 0,
            rolled_back: 0,
            reach: Time::ZERO,
        }
    }

    fn horizon(&self, gvt: Time) -> Time {
        gvt.saturating_add(self.window)
    }

    /// The number of records from which on a history should be cleared thoroughly.
    pub fn crowded(&self) -> usize {
        self.history_limit / 2
    }

    /// Events at this time or later have to wait, now that so many records are kept. A history
    /// that is half full is for what is before its `oldest` record: catching up, not running ahead.
    #[inline]
    pub fn horizon_with(&self, gvt: Time, history: usize, oldest: impl FnOnce() -> Time) -> Time {
        if history >= self.history_limit {
            gvt
        } else if history >= self.crowded() {
            self.horizon(gvt).min(oldest())
        } else {
            self.horizon(gvt)
        }
    }

    /// Takes note of a round: how far above the global virtual time the partition has come in it,
    /// whether it had to wait, and how many events it has executed and taken back in all.
    pub fn adapt(&mut self, reach: Time, waited: bool, executed: u64, rolled_back: u64) {
        self.reach = self.reach.max(reach);
        let sample = executed - self.executed;
        if sample < Self::SAMPLE {
            // A window that lets nothing through gives no sample either.
            if waited {
                self.window = scaled(self.window, 9, 8);
            }
            return;
        }
        let wasted = rolled_back - self.rolled_back;
        self.window = if wasted * 5 > sample {
            scaled(self.window.min(self.reach), 1, 2)
        } else {
            scaled(self.window, 3, 2)
        };
        (self.executed, self.rolled_back, self.reach) = (executed, rolled_back, Time::ZERO);
    }
}

/// `span * numerator / denominator`, but always enough to grow from.
fn scaled(span: Time, numerator: u128, denominator: u128) -> Time {
    let ticks = u128::from(span.ticks()) * numerator / denominator;
    Time::from_ticks(u64::try_from(ticks).unwrap_or(u64::MAX).max(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REACH: Time = Time::from_ticks(1_000);

    #[test]
    fn the_window_follows_efficiency() {
        let mut throttle = Throttle::new(10);
        assert_eq!(throttle.horizon(Time::ZERO), Time::MAX);
        throttle.adapt(REACH, false, 600, 300);
        assert_eq!(throttle.horizon(Time::ZERO), Time::from_ticks(500));
        throttle.adapt(REACH, false, 1200, 301);
        assert_eq!(throttle.horizon(Time::ZERO), Time::from_ticks(750));
    }

    #[test]
    fn a_closed_window_opens_again() {
        let mut throttle = Throttle::new(10);
        throttle.adapt(Time::ZERO, false, 600, 600);
        let closed = throttle.horizon(Time::ZERO);
        for _ in 0..100 {
            throttle.adapt(Time::ZERO, true, 600, 600);
        }
        assert!(throttle.horizon(Time::ZERO).ticks() > 10_000 * closed.ticks());
    }
}
