//! What requests come, as all threads of a mount see them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// So many requests are judged together: what callers of several threads do for a few milliseconds.
const WINDOW: u32 = 128;
/// Several callers are at work at once if a request comes from another one than the request before so often.
const CHANGES_MIN: u32 = WINDOW / 8;
/// Servers are needed seldom if no more requests than these have to wait.
const WAITS_MAX: u32 = WINDOW / 8;

/// Fields of [`Traffic::window`].
const ONE_REQUEST: u32 = 1;
const ONE_CHANGE: u32 = 1 << 10;
const ONE_WAIT: u32 = 1 << 20;
const FIELD_MASK: u32 = ONE_CHANGE - 1;

/// Counts requests.
#[derive(Debug, Default)]
pub struct Traffic {
    last_caller: AtomicU32,
    /// Who has called since requests were judged last: a bit for each remainder of a caller's number.
    callers: AtomicU64,
    /// The requests since then, in fields.
    window: AtomicU32,
}

/// What requests have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// From how many callers at once they come, in 1 to 64: some may be missing.
    pub callers: u32,
    /// Many of them have to wait for servers.
    pub needs_servers: bool,
}

impl Traffic {
    /// A request has come from a thread of that number, 0 if from the kernel itself, and has or has not had to wait for a
    /// server. Returns what the last requests were like when it is time to judge them.
    pub fn note(&self, caller: u32, waits: bool) -> Option<Nature> {
        let changes = caller != 0 && self.last_caller.swap(caller, Ordering::Relaxed) != caller;
        if changes {
            self.callers.fetch_or(1 << (caller % 64), Ordering::Relaxed);
        }
        let more = ONE_REQUEST + u32::from(changes) * ONE_CHANGE + u32::from(waits) * ONE_WAIT;
        let window = self.window.fetch_add(more, Ordering::Relaxed) + more;
        // Those that other threads note before it begins anew are as good as never noted.
        (window & FIELD_MASK == WINDOW).then(|| {
            self.window.store(0, Ordering::Relaxed);
            Nature::of(window, self.callers.swap(0, Ordering::Relaxed))
        })
    }
}

impl Nature {
    const fn of(window: u32, callers: u64) -> Self {
        let take_turns = (window / ONE_CHANGE) & FIELD_MASK >= CHANGES_MIN;
        Self {
            callers: if take_turns { callers.count_ones() } else { 1 },
            needs_servers: window / ONE_WAIT > WAITS_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of requests from those callers, of which every so-manieth waits.
    fn nature(callers: &[u32], waits_every: u32) -> Nature {
        let traffic = Traffic::default();
        let callers = callers.iter().cycle();
        let natures: Vec<_> = (1..=3 * WINDOW)
            .zip(callers)
            .filter_map(|(number, &caller)| {
                traffic.note(caller, number.is_multiple_of(waits_every))
            })
            .collect();
        assert_eq!(natures.len(), 3);
        assert!(natures.iter().all(|nature| *nature == natures[2]));
        natures[2]
    }

    #[test]
    fn one_caller_is_one_whatever_the_kernel_asks_by_itself() {
        assert_eq!(nature(&[7], 1).callers, 1);
        assert_eq!(nature(&[7, 0, 7, 7, 0], 1).callers, 1);
    }

    #[test]
    fn callers_one_after_the_other_are_not_several() {
        let in_turn: Vec<u32> = (1..=32).flat_map(|caller| [caller; 12]).collect();
        assert_eq!(nature(&in_turn, 1).callers, 1);
    }

    #[test]
    fn callers_at_the_same_time_are_several() {
        assert_eq!(nature(&[7, 8], 1).callers, 2);
        assert_eq!(nature(&[7, 7, 7, 8, 8, 0], 1).callers, 2);
        assert_eq!(nature(&[1, 2, 3, 4, 5], 1).callers, 5);
    }

    #[test]
    fn servers_are_needed_if_many_requests_wait() {
        assert!(nature(&[7], 1).needs_servers);
        assert!(nature(&[7], 4).needs_servers);
        assert!(!nature(&[7], 10).needs_servers);
        assert!(!nature(&[7], u32::MAX).needs_servers);
    }
}
