//! The pattern of requests, over all threads of a mount.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of requests that are judged together, a few milliseconds of several threads' work.
const WINDOW: u32 = 128;
/// Several callers are active at once if at least this many requests come from another caller than
/// the request before.
const CHANGES_MIN: u32 = WINDOW / 8;
/// Servers are rarely needed if at most this many requests have to wait.
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
    /// The callers since the last judgement: a bit for each remainder of a caller's number.
    callers: AtomicU64,
    /// The requests since then, in fields.
    window: AtomicU32,
}

/// The common properties of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// The number of concurrent callers, from 1 to 64; some may be missing.
    pub callers: u32,
    /// Many of them have to wait for servers.
    pub needs_servers: bool,
}

impl Traffic {
    /// Records a request from a thread of this number, 0 for the kernel itself, and whether it had
    /// to wait for a server. Returns the properties of the last requests at the end of a window.
    pub fn note(&self, caller: u32, waits: bool) -> Option<Nature> {
        let changes = caller != 0 && self.last_caller.swap(caller, Ordering::Relaxed) != caller;
        if changes {
            self.callers.fetch_or(1 << (caller % 64), Ordering::Relaxed);
        }
        let more = ONE_REQUEST + u32::from(changes) * ONE_CHANGE + u32::from(waits) * ONE_WAIT;
        let window = self.window.fetch_add(more, Ordering::Relaxed) + more;
        // Requests that other threads record before the reset are lost, which does not matter.
        (window & FIELD_MASK == WINDOW).then(|| {
            self.window.store(0, Ordering::Relaxed);
            Nature::of(window, self.callers.swap(0, Ordering::Relaxed))
        })
    }
}

impl Nature {
    const fn of(window: u32, callers: u64) -> Self {
        let alternate = (window / ONE_CHANGE) & FIELD_MASK >= CHANGES_MIN;
        Self {
            callers: if alternate { callers.count_ones() } else { 1 },
            needs_servers: window / ONE_WAIT > WAITS_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judgement of requests from those callers, of which every `waits_every`-th waits.
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
        let consecutive: Vec<u32> = (1..=32).flat_map(|caller| [caller; 12]).collect();
        assert_eq!(nature(&consecutive, 1).callers, 1);
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
