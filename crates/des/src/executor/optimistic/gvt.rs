use crate::event::EventKey;
use crate::sync::Padded;
use crate::sync::primitives::{AtomicBool, AtomicU64, Ordering};

/// The computation of the global virtual time: the key before which no event can change.
///
/// It is synchronous: all threads stop, receive all mail, and vote with their first event and the
/// first message that they have just sent. (Compare Fujimoto and Hybinette, "Computing global
/// virtual time in shared-memory multiprocessors", ACM TOMACS 7(4), 1997.) Values are written
/// before a barrier and read after it, so the barrier orders the accesses.
#[derive(Debug)]
pub(super) struct Gvt {
    /// The latest requested round.
    wanted: Padded<AtomicU64>,
    votes: Vec<Padded<Vote>>,
}

/// The vote of one thread, or of all other ranks together.
#[derive(Debug, Default)]
struct Vote {
    key: [AtomicU64; 3],
    failed: AtomicBool,
}

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub gvt: EventKey,
    /// Whether a certain event has failed.
    pub failed: bool,
}

impl Gvt {
    /// Votes of `threads` threads; voter number `threads` represents the other ranks.
    pub fn new(threads: usize) -> Gvt {
        let gvt = Gvt {
            wanted: Padded(AtomicU64::new(0)),
            votes: (0..=threads).map(|_| Padded(Vote::default())).collect(),
        };
        gvt.vote(threads, EventKey::MAX, false);
        gvt
    }

    /// Requests a round from all threads.
    pub fn want(&self, round: u64) {
        self.wanted.0.store(round, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_wanted(&self, round: u64) -> bool {
        self.wanted.0.load(Ordering::Relaxed) >= round
    }

    pub fn vote(&self, voter: usize, key: EventKey, failed: bool) {
        let vote = &self.votes[voter].0;
        for (part, word) in vote.key.iter().zip(key.words()) {
            part.store(word, Ordering::Relaxed);
        }
        vote.failed.store(failed, Ordering::Relaxed);
    }

    /// The smallest of all votes.
    pub fn result(&self) -> Agreed {
        let nothing = Agreed {
            gvt: EventKey::MAX,
            failed: false,
        };
        self.votes.iter().fold(nothing, |agreed, Padded(vote)| {
            let words = [0, 1, 2].map(|part: usize| vote.key[part].load(Ordering::Relaxed));
            Agreed {
                gvt: agreed.gvt.min(EventKey::from_words(words)),
                failed: agreed.failed | vote.failed.load(Ordering::Relaxed),
            }
        })
    }
}

#[cfg(all(test, loom))]
mod every_interleaving {
    use loom::sync::Arc;

    use super::*;
    use crate::sync::Barrier;
    use crate::{ProcessId, Time};

    fn key(ticks: u64) -> EventKey {
        EventKey::new(Time::from_ticks(ticks), 0, ProcessId(0), 0)
    }

    /// Like the executor: a barrier before the votes and one after them.
    fn vote_and_read(me: usize, barrier: &Barrier, gvt: &Gvt) {
        for round in 0..2 {
            barrier.wait();
            gvt.vote(me, key(10 * round + me as u64), false);
            barrier.wait();
            assert_eq!(gvt.result().gvt, key(10 * round));
        }
    }

    #[test]
    fn all_count_the_same_votes() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), Gvt::new(2)));
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || vote_and_read(1, &other.0, &other.1));
            vote_and_read(0, &shared.0, &shared.1);
            thread.join().unwrap();
        });
    }
}
