//! How long to look again and again before going to sleep.

use std::time::Duration;

/// Nobody looks longer than this. To wake a sleeping core takes about a third of it.
const LONGEST: Duration = Duration::from_micros(100);
/// Where it starts, and how short it becomes before it becomes nothing.
const SHORTEST: Duration = Duration::from_micros(6);

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
