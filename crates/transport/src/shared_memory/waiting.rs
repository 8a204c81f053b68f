//! How long to look again and again before going to sleep.

use std::{
    cell::Cell,
    thread,
    time::{Duration, Instant},
};

/// Nobody looks longer than this. To wake a sleeping core takes about a third of it.
const LONGEST: Duration = Duration::from_micros(100);
/// Where it starts, and how short it becomes before it becomes nothing.
const SHORTEST: Duration = Duration::from_micros(6);

/// Who gets the processor back so late has given it to a process that does not yield, not to one of
/// those that it waits for: these answer or yield much sooner.
const OVERRUN: Duration = Duration::from_millis(1);
/// A thread that lost time so sleeps at once for so many times as long: who sleeps is served first when
/// it is woken, who yields last.
const ABSTINENCE: u32 = 50;

thread_local! {
    static CROWDED_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
    static PATIENCE: Cell<Patience> = const { Cell::new(Patience(LONGEST)) };
}

/// Whether others need the processors, so that this thread had better sleep.
pub(super) fn is_crowded(now: Instant) -> bool {
    CROWDED_UNTIL.get().is_some_and(|until| now < until)
}

/// Lets others run, and finds out whether there are too many of them.
pub(super) fn yield_processor() {
    let before = Instant::now();
    thread::yield_now();
    let now = Instant::now();
    let lost = now.duration_since(before);
    if lost > OVERRUN {
        CROWDED_UNTIL.set(Some(now + lost * ABSTINENCE));
    }
}

/// Waits for what another thread brings: looks for it as long as that is worth it on this thread, then
/// sleeps.
pub fn wait<T>(mut look: impl FnMut() -> Option<T>, sleep: impl FnOnce() -> T) -> T {
    let since = Instant::now();
    let mut patience = PATIENCE.get();
    let found = loop {
        if let Some(found) = look() {
            break found;
        }
        let now = Instant::now();
        if is_crowded(now) || now.duration_since(since) >= patience.span() {
            break sleep();
        }
        yield_processor();
    };
    patience.learn(since.elapsed());
    PATIENCE.set(patience);
    found
}

/// A patience that follows what waiting was good for, in the manner of the halt polling of Linux's
/// KVM (Documentation/virt/kvm/halt-polling.rst): it grows when what was waited for came soon after
/// going to sleep, and shrinks when it came much later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
            let half = self.0 / 2;
            self.0 = if half < SHORTEST {
                Duration::ZERO
            } else {
                half
            };
        } else if waited > self.0 {
            self.0 = (self.0 * 2).clamp(SHORTEST, LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_make_it_give_up_at_once_and_short_ones_bring_it_back() {
        let mut patience = Patience::default();
        for _ in 0..10 {
            patience.learn(LONGEST * 2);
        }
        assert_eq!(patience.span(), Duration::ZERO);
        let short = LONGEST - Duration::from_nanos(1);
        for _ in 0..10 {
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
}
