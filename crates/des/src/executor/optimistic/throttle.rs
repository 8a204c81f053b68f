use crate::Time;

/// Limits the optimism of a partition.
///
/// A window above the global virtual time (GVT) begins narrow. It is halved as soon as more than
/// one event in five has been undone (compare Ferscha, "Probabilistic adaptive direct optimism
/// control in Time Warp", PADS 1995). It is widened only when GVT has passed all events that were
/// executed at the last judgement, as TCP does when the data of a window has been acknowledged.
/// Without that, the absence of rollbacks means nothing, because slower partitions may still send
/// earlier events. And it is widened only if it has held the partition back (compare Handley,
/// Padhye and Floyd, "TCP congestion window validation", RFC 2861). So a partition with little work
/// does not run away once it has more.
///
/// Besides, the history is limited. When it is full only the next event of the whole model may run,
/// which is always possible and always makes room.
#[derive(Debug)]
pub(super) struct Throttle {
    window: Time,
    history_limit: usize,
    /// The GVT at which the window may be widened.
    due: Time,
    /// Totals at the last judgement.
    executed: u64,
    rolled_back: u64,
    /// Observations since then: the time of the farthest event, and whether any event had to wait.
    farthest: Time,
    held_back: bool,
}

/// The progress of a partition in a round, and in total.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// GVT before the round and after it.
    pub gvt: [Time; 2],
    /// The time of the farthest event that was executed in the round.
    pub farthest: Time,
    /// Whether an event had to wait.
    pub held_back: bool,
    /// Totals of executed and of undone events.
    pub executed: u64,
    pub rolled_back: u64,
}

impl Throttle {
    /// The smallest window that can still grow.
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

    /// The number of records from which on a history is compacted.
    pub fn compact_at(&self) -> usize {
        self.history_limit / 2
    }

    /// The time from which on events have to wait, with `history` records. A history that is half
    /// full admits only events before its `oldest` record: the partition catches up and does not
    /// run ahead.
    #[inline]
    pub fn horizon_with(&self, gvt: Time, history: usize, oldest: impl FnOnce() -> Time) -> Time {
        if history >= self.history_limit {
            gvt
        } else if history >= self.compact_at() {
            self.horizon(gvt).min(oldest())
        } else {
            self.horizon(gvt)
        }
    }

    /// Notes a round, and judges the window if enough is known.
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

    /// A round that reached `FAR`, with GVT at `gvt` after it.
    fn round(gvt: Time, held_back: bool, executed: u64, rolled_back: u64) -> Progress {
        Progress {
            gvt: [NOW, gvt],
            farthest: FAR,
            held_back,
            executed,
            rolled_back,
        }
    }

    /// A throttle whose window has been halved to 500 ticks, for events up to `FAR`.
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
