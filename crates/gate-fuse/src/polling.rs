//! Adaptive polling for the next request.
//!
//! A caller whose request was answered soon sends the next one. A blocked thread would be late for
//! it, because a wake-up takes several times as long as most replies.

use futago_base::Time;
use futago_driver::SpinLimit;
use futago_transport::{
    busy::now,
    waiting::{is_contended, yield_cpu},
};

/// The polling of a thread for requests.
#[derive(Debug, Default)]
pub struct AdaptivePolling {
    spin_limit: SpinLimit,
    /// The first unsuccessful poll since the last successful one.
    since: Option<Time>,
    is_blocked: bool,
}

impl AdaptivePolling {
    /// Records a poll. Returns whether the thread polls again at once; otherwise it blocks until
    /// there is a request.
    pub fn keeps_polling(&mut self, has_found: bool) -> bool {
        let now = now();
        if has_found {
            self.found(now);
            return true;
        }
        self.found_nothing(now, is_contended(now));
        if !self.is_blocked {
            // The next caller may need the CPU.
            yield_cpu(now);
        }
        !self.is_blocked
    }

    fn found(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.spin_limit.learn(now.since(since));
        }
        self.is_blocked = false;
    }

    fn found_nothing(&mut self, now: Time, is_contended: bool) {
        let waits = now.since(*self.since.get_or_insert(now));
        // A thread that was woken without a request was slower than another thread, and blocks
        // again.
        self.is_blocked |= is_contended || waits >= self.spin_limit.span();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a thread polls without success, in microseconds.
    fn polls_us(polling: &mut AdaptivePolling, from: Time) -> u64 {
        let looks = (0..).take_while(|&us| {
            polling.found_nothing(Time(from.0 + us * 1000), false);
            !polling.is_blocked
        });
        looks.count() as u64
    }

    #[test]
    fn a_thread_looks_no_longer_than_is_worth_it() {
        let mut polling = AdaptivePolling::default();
        let limit_us = polls_us(&mut polling, Time(0));
        assert!(limit_us > 100);
        let late = Time(1_000_000_000);
        polling.found_nothing(late, false);
        assert!(polling.is_blocked, "it was woken in vain");
        polling.found(late);
        assert!(!polling.is_blocked);
        assert_eq!(polls_us(&mut polling, late), limit_us / 2);
    }

    #[test]
    fn a_thread_sleeps_at_once_when_others_need_the_processor() {
        let mut polling = AdaptivePolling::default();
        polling.found_nothing(Time(0), true);
        assert!(polling.is_blocked);
    }
}
