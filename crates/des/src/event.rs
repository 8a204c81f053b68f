//! Events, and the one order in which every executor commits them.

use serde::{Deserialize, Serialize};

use crate::Time;

/// The number of a logical process: 0 up to the model's process count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// The number as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The position of an event in the total order: (time, causal depth, source, counter of the
/// source).
///
/// The depth is the parent's plus one if the event has its parent's time, and zero otherwise. An
/// event therefore always sorts after its parent, zero-delay chains included, and no two events
/// have the same key. The key of an event depends on the model and the seed alone, never on the
/// executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventKey {
    time: Time,
    /// Depth (16 bits), source (32) and the upper 16 of the counter's 48 bits.
    rank: u64,
    counter_low: u32,
}

impl EventKey {
    /// Later than the key of any event.
    pub(crate) const MAX: EventKey = EventKey {
        time: Time::MAX,
        rank: u64::MAX,
        counter_low: u32::MAX,
    };

    /// One more than the largest counter that a key holds.
    pub(crate) const COUNTER_LIMIT: u64 = 1 << 48;

    #[inline]
    pub(crate) fn new(time: Time, depth: u16, source: ProcessId, counter: u64) -> EventKey {
        debug_assert!(counter < Self::COUNTER_LIMIT);
        let rank = u64::from(depth) << 48 | u64::from(source.0) << 16 | counter >> 32;
        EventKey {
            time,
            rank,
            counter_low: counter as u32,
        }
    }

    /// The time of the event.
    #[inline]
    pub const fn time(&self) -> Time {
        self.time
    }

    /// The number of zero-delay steps that led to the event at its own time.
    #[inline]
    pub const fn depth(&self) -> u16 {
        (self.rank >> 48) as u16
    }

    /// The process that sent the event.
    #[inline]
    pub const fn source(&self) -> ProcessId {
        ProcessId((self.rank >> 16) as u32)
    }

    /// How many events the source had sent before this one.
    #[inline]
    pub const fn counter(&self) -> u64 {
        (self.rank & 0xffff) << 32 | self.counter_low as u64
    }

    /// The key as two words, for digests and for the exchange between ranks.
    #[inline]
    pub(crate) const fn words(&self) -> [u64; 3] {
        [self.time.ticks(), self.rank, self.counter_low as u64]
    }

    pub(crate) const fn from_words(words: [u64; 3]) -> EventKey {
        EventKey {
            time: Time::from_ticks(words[0]),
            rank: words[1],
            counter_low: words[2] as u32,
        }
    }
}

/// Key and destination of an event, without its payload: 24 bytes.
///
/// The destination is a process number while the event moves between partitions. In the queue of a
/// partition, it is the index of the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    time: Time,
    rank: u64,
    counter_low: u32,
    pub destination: u32,
}

impl Head {
    #[inline]
    pub fn new(key: EventKey, destination: u32) -> Head {
        Head {
            time: key.time,
            rank: key.rank,
            counter_low: key.counter_low,
            destination,
        }
    }

    #[inline]
    pub fn key(&self) -> EventKey {
        EventKey {
            time: self.time,
            rank: self.rank,
            counter_low: self.counter_low,
        }
    }

    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// Whether this event comes first. One 128-bit comparison nearly always decides.
    #[inline]
    pub fn is_before(&self, other: &Head) -> bool {
        let (mine, others) = (self.leading_bits(), other.leading_bits());
        mine < others || (mine == others && self.counter_low < other.counter_low)
    }

    #[inline]
    fn leading_bits(&self) -> u128 {
        u128::from(self.time.ticks()) << 64 | u128::from(self.rank)
    }
}

/// An event under way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Event<E> {
    pub head: Head,
    pub payload: E,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_back_its_parts() {
        let key = EventKey::new(Time::from_ticks(7), 3, ProcessId(u32::MAX), (1 << 48) - 1);
        assert_eq!(key.time(), Time::from_ticks(7));
        assert_eq!(key.depth(), 3);
        assert_eq!(key.source(), ProcessId(u32::MAX));
        assert_eq!(key.counter(), (1 << 48) - 1);
        assert_eq!(EventKey::from_words(key.words()), key);
    }

    #[test]
    fn order_is_time_then_depth_then_source_then_counter() {
        let key = |time, depth, source, counter| {
            EventKey::new(Time::from_ticks(time), depth, ProcessId(source), counter)
        };
        let ascending = [
            key(1, 9, 9, 9),
            key(2, 0, 9, 9),
            key(2, 1, 0, 9),
            key(2, 1, 1, 0),
            key(2, 1, 1, u64::from(u32::MAX)),
            key(2, 1, 1, 1 << 32),
        ];
        for pair in ascending.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
            assert!(Head::new(pair[0], 1).is_before(&Head::new(pair[1], 0)));
            assert!(!Head::new(pair[1], 0).is_before(&Head::new(pair[0], 1)));
        }
    }

    #[test]
    fn a_head_is_24_bytes() {
        assert_eq!(size_of::<Head>(), 24);
    }
}
