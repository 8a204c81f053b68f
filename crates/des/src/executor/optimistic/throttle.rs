use crate::Time;

/// Keeps a partition from running too far ahead.
///
/// A window above the global virtual time (GVT) begins narrow. It is halved as soon as more than one
/// event in five has been taken back (compare Ferscha, "Probabilistic adaptive direct optimism
/// control in Time Warp", PADS 1995). It is widened only when GVT has passed all that was executed
/// when it was last judged, as TCP does when a window's data has been acknowledged: that nobody has
/// objected yet means nothing while those who might are far behind. And it is widened only if it
/// was what held the partition back (compare Handley, Padhye and Floyd, "TCP congestion window
/// validation", RFC 2861): who has had little to do must not run off once there is more.
///
/// Apart from it the history is limited: when it is full only the very next event of the whole
/// model may run, which is always possible and always makes room.
#[derive(Debug)]
pub(super) struct Throttle {
    window: Time,
    history_limit: usize,
    /// GVT at which the window may be judged good.
    due: Time,
    /// Totals when it was last judged.
    executed: u64,
    rolled_back: u64,
    /// What has been seen since then: the time of the farthest event, and whether any had to wait.
    farthest: Time,
    held_back: bool,
}

/// What a partition has done in a round, and in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// GVT before the round and after it.
    pub gvt: [Time; 2],
    /// The time of the farthest event that was executed in the round.
    pub farthest: Time,
    /// Whether an event had to wait.
    pub held_back: bool,
    /// All events that were ever executed, and those that were taken back.
    pub executed: u64,
    pub rolled_back: u64,
}

impl Throttle {
    /// The least window, which can still grow.
    const NARROW: Time = Time::from_ticks(8);

    pub fn new(history_limit: usize) -> Throttle {
        Throttle {
            window: Self::NARROW,
            history_limit,
            due: Time::ZERO,
            executed: 0,
            rolled_back: 0,
            farthest: Time::ZERO,
            held_back: false,
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

    /// Takes note of a round, and judges the window if enough is known.
    pub fn adapt(&mut self, round: Progress) {
        self.farthest = self.farthest.max(round.farthest);
        self.held_back |= round.held_back;
        let executed = round.executed - self.executed;
        let wasted = round.rolled_back - self.rolled_back;
        let [before, after] = round.gvt;
        if executed == 0 {
            return;
        }
        if wasted * 5 > executed {
            let reach = self.farthest.since(before);
            self.window = scaled(self.window.min(reach), 1, 2);
        } else if after < self.due {
            return;
        } else if self.held_back {
            self.window = scaled(self.window, 3, 2);
        }
        self.due = self.farthest;
        (self.executed, self.rolled_back) = (round.executed, round.rolled_back);
        (self.farthest, self.held_back) = (Time::ZERO, false);
    }
}

/// `span * numerator / denominator`, but never less than the least window.
fn scaled(span: Time, numerator: u128, denominator: u128) -> Time {
    let ticks = u128::from(span.ticks()) * numerator / denominator;
    Time::from_ticks(u64::try_from(ticks).unwrap_or(u64::MAX)).max(Throttle::NARROW)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::ZERO;
    /// The time of the farthest event in all rounds.
    const FAR: Time = Time::from_ticks(1_000);

    /// A round that went as far as `FAR`, with GVT at `gvt` after it.
    fn round(gvt: Time, held_back: bool, executed: u64, rolled_back: u64) -> Progress {
        Progress {
            gvt: [NOW, gvt],
            farthest: FAR,
            held_back,
            executed,
            rolled_back,
        }
    }

    /// A throttle whose window has been halved to 500 ticks, for what may run up to `FAR`.
    fn halved() -> Throttle {
        let mut throttle = Throttle::new(10);
        throttle.window = Time::MAX;
        throttle.adapt(round(NOW, true, 10, 3));
        assert_eq!(throttle.horizon(NOW), Time::from_ticks(500));
        throttle
    }

    #[test]
    fn a_window_is_widened_when_what_it_let_through_is_certain() {
        let mut throttle = halved();
        throttle.adapt(round(NOW, true, 20, 3));
        assert_eq!(throttle.horizon(NOW), Time::from_ticks(500));
        throttle.adapt(round(FAR, true, 30, 3));
        assert_eq!(throttle.horizon(NOW), Time::from_ticks(750));
    }

    #[test]
    fn a_window_that_held_nothing_back_stays() {
        let mut throttle = halved();
        throttle.adapt(round(FAR, false, 20, 3));
        assert_eq!(throttle.horizon(NOW), Time::from_ticks(500));
    }

    #[test]
    fn the_least_window_opens() {
        let mut throttle = Throttle::new(10);
        for executed in 1..=50 {
            throttle.adapt(round(FAR, true, executed, 0));
        }
        assert!(throttle.horizon(NOW) > Time::from_ticks(1_000_000_000));
    }
}
