//! Looking for the next request instead of sleeping until it comes.
//!
//! A caller whose request was answered has the next one soon, and a thread that sleeps then is late for it: waking up takes
//! several times as long as most answers.

use futago_base::Time;
use futago_driver::SpinLimit;
use futago_transport::{
    busy::now,
    shared_memory::waiting::{is_contended, yield_cpu},
};

/// How a thread looks for requests.
#[derive(Debug, Default)]
pub struct Lookout {
    spin_limit: SpinLimit,
    /// When it first looked in vain since it last found something.
    since: Option<Time>,
    is_asleep: bool,
}

impl Lookout {
    /// The thread has looked. Returns whether it looks again at once; otherwise it sleeps until there is something.
    pub fn looks_again(&mut self, has_found: bool) -> bool {
        let now = now();
        if has_found {
            self.found(now);
            return true;
        }
        self.looked_in_vain(now, is_contended(now));
        if !self.is_asleep {
            // Who is about to ask may need the processor for that.
            yield_cpu(now);
        }
        !self.is_asleep
    }

    fn found(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.spin_limit.learn(now.since(since));
        }
        self.is_asleep = false;
    }

    fn looked_in_vain(&mut self, now: Time, is_contended: bool) {
        let waits = now.since(*self.since.get_or_insert(now));
        // Who was woken in vain was not as fast as another thread, and sleeps on.
        self.is_asleep |= is_contended || waits >= self.spin_limit.span();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a thread looks that finds nothing, in microseconds.
    fn looks_us(lookout: &mut Lookout, from: Time) -> u64 {
        let looks = (0..).take_while(|&us| {
            lookout.looked_in_vain(Time(from.0 + us * 1000), false);
            !lookout.is_asleep
        });
        looks.count() as u64
    }

    #[test]
    fn a_thread_looks_no_longer_than_is_worth_it() {
        let mut lookout = Lookout::default();
        let limit_us = looks_us(&mut lookout, Time(0));
        assert!(limit_us > 100);
        let late = Time(1_000_000_000);
        lookout.looked_in_vain(late, false);
        assert!(lookout.is_asleep, "it was woken in vain");
        lookout.found(late);
        assert!(!lookout.is_asleep);
        assert_eq!(looks_us(&mut lookout, late), limit_us / 2);
    }

    #[test]
    fn a_thread_sleeps_at_once_when_others_need_the_processor() {
        let mut lookout = Lookout::default();
        lookout.looked_in_vain(Time(0), true);
        assert!(lookout.is_asleep);
    }
}
