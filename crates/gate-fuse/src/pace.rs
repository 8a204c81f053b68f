//! How many threads a mount needs, as each of them judges by what it finds.
//!
//! A request wakes every thread that waits for requests, and one of them gets it: a thread too many
//! costs the processor time of waking up in vain. A thread too few shows in requests that wait while
//! it is at work. So a thread that finds a second request behind the first, time and again, calls
//! another one; a thread that finds nothing, time and again, leaves.

/// So often in excess a thread finds requests that have waited before it calls another one.
const WAITED_MAX: u32 = 64;
/// How many finds without such a request make up for one with it.
const AT_ONCE_WEIGHT: u32 = 2;
/// So often in excess a thread finds nothing before it leaves.
const NOTHING_MAX: u32 = 64;
/// How many finds make up for finding nothing once.
const NOTHING_WEIGHT: u32 = 2;

/// What a thread had better do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Go on.
    GoOn,
    /// Call another thread, and go on.
    Call,
    /// Leave the requests to others.
    Leave,
}

/// How it has gone for a thread of late.
#[derive(Debug, Default)]
pub struct Pace {
    waited: u32,
    nothing: u32,
}

impl Pace {
    /// The thread has woken up and found so many requests.
    pub fn found(&mut self, requests: usize) -> Advice {
        self.count(requests);
        if self.waited >= WAITED_MAX {
            self.waited = 0;
            return Advice::Call;
        }
        if self.nothing >= NOTHING_MAX {
            return Advice::Leave;
        }
        Advice::GoOn
    }

    fn count(&mut self, requests: usize) {
        if requests > 1 {
            self.waited += 1;
        } else {
            self.waited = self.waited.saturating_sub(AT_ONCE_WEIGHT);
        }
        if requests == 0 {
            self.nothing += NOTHING_WEIGHT;
        } else {
            self.nothing = self.nothing.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first advice other than to go on, and after how many wakings it came.
    fn first_advice(found: impl Iterator<Item = usize>) -> Option<(usize, Advice)> {
        let mut pace = Pace::default();
        let advices = found.take(10_000).map(|requests| pace.found(requests));
        advices
            .enumerate()
            .find(|(_, advice)| *advice != Advice::GoOn)
    }

    #[test]
    fn one_caller_needs_one_thread() {
        assert_eq!(first_advice([1].into_iter().cycle()), None);
        // A close is followed by the next call before it is answered.
        assert_eq!(first_advice([1, 1, 2].into_iter().cycle()), None);
    }

    #[test]
    fn a_thread_that_keeps_others_waiting_calls_for_help_again_and_again() {
        let mut pace = Pace::default();
        let calls = (0..10 * WAITED_MAX).filter(|_| pace.found(3) == Advice::Call);
        assert_eq!(calls.count(), 10);
    }

    #[test]
    fn a_thread_that_always_comes_too_late_leaves() {
        let alone = first_advice([0].into_iter().cycle());
        assert_eq!(alone, Some((31, Advice::Leave)));
        let every_other = first_advice([0, 1].into_iter().cycle());
        assert_eq!(every_other.map(|(_, advice)| advice), Some(Advice::Leave));
    }

    #[test]
    fn a_thread_that_mostly_finds_something_stays() {
        assert_eq!(first_advice([0, 1, 1].into_iter().cycle()), None);
    }
}
