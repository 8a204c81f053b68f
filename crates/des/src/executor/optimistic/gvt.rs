use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::event::EventKey;
use crate::sync::Padded;

/// Where threads put together the global virtual time: the key before which nothing can change.
///
/// Synchronous: everybody stops, takes in all mail, and says what its first event is and what the
/// first of the messages is that it has only just sent (compare Fujimoto and Hybinette, "Computing
/// global virtual time in shared-memory multiprocessors", ACM TOMACS 7(4), 1997). Values are
/// written before a barrier and read after it, which is what orders the accesses.
#[derive(Debug)]
pub(super) struct Gvt {
    /// The latest round that anybody wants.
    wanted: Padded<AtomicU64>,
    votes: Vec<Padded<Vote>>,
}

/// What one thread, or all the other ranks together, contribute.
#[derive(Debug, Default)]
struct Vote {
    key: [AtomicU64; 3],
    failed: AtomicBool,
}

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub gvt: EventKey,
    /// Somebody has found that an event which is certain has failed.
    pub failed: bool,
}

impl Gvt {
    /// For this many threads; voter number `threads` stands for the other ranks.
    pub fn new(threads: usize) -> Gvt {
        let gvt = Gvt {
            wanted: Padded(AtomicU64::new(0)),
            votes: (0..=threads).map(|_| Padded(Vote::default())).collect(),
        };
        gvt.vote(threads, EventKey::MAX, false);
        gvt
    }

    /// Asks all threads for a round.
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
