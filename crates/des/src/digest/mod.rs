//! The digest: one number that changes if any process commits other events, or in another order.

mod walk;

use serde::Serialize;

pub(crate) use walk::{Leaf, Sink, WalkError, walk};

use crate::event::{EventKey, ProcessId};

/// The running digest of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

const START: u64 = 0x6a09_e667_f3bc_c908;
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

impl Digest {
    pub const fn new() -> Digest {
        Digest(START)
    }

    /// Covers an event that the process `id` commits.
    #[inline]
    pub fn event<E: Serialize>(
        &mut self,
        key: EventKey,
        id: ProcessId,
        payload: &E,
    ) -> Result<(), WalkError> {
        let [time, rank, counter_low] = key.words();
        self.word(time);
        self.word(rank);
        self.word(counter_low << 32 | u64::from(id.0));
        self.value(payload)
    }

    /// Covers any value.
    #[inline]
    pub fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WalkError> {
        walk(value, self)
    }

    /// The share of this process in the digest of the run. Shares are added, in any order.
    pub fn share(mut self, id: ProcessId) -> u64 {
        self.word(u64::from(id.0));
        self.word(START);
        self.0
    }

    /// Rotation makes order count; the folded 128-bit product spreads every bit.
    #[inline]
    fn word(&mut self, word: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ word) * u128::from(FACTOR);
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ word;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks();
        for &word in words {
            self.word(u64::from_le_bytes(word));
        }
        if !rest.is_empty() {
            let last = rest.iter().rev();
            self.word(last.fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }
}

impl Sink for Digest {
    // A caller that serializes a value knows the sort of each leaf. Without inlining, the compiler
    // would test it again.
    #[inline(always)]
    fn leaf(&mut self, leaf: Leaf<'_>) {
        match leaf {
            Leaf::Unit => {}
            Leaf::Unsigned(value) => self.word(value),
            Leaf::Signed(value) => self.word(value as u64),
            Leaf::Float(value) => self.word(value.to_bits()),
            Leaf::Text(text) => self.bytes(text.as_bytes()),
            Leaf::Bytes(bytes) => self.bytes(bytes),
            Leaf::Variant(index, _) => self.word(u64::from(index)),
            Leaf::Length(length) => self.word(length as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;

    fn after(events: &[(u64, u32)]) -> u64 {
        let mut digest = Digest::new();
        for &(time, payload) in events {
            let key = EventKey::new(Time::from_ticks(time), 0, ProcessId(1), time);
            digest
                .event(key, ProcessId(2), &payload)
                .expect("serializable");
        }
        digest.share(ProcessId(2))
    }

    #[test]
    fn order_and_payload_count() {
        let straight = after(&[(1, 10), (2, 20)]);
        assert_eq!(straight, after(&[(1, 10), (2, 20)]));
        assert_ne!(straight, after(&[(2, 20), (1, 10)]), "swapped events");
        assert_ne!(straight, after(&[(1, 20), (2, 10)]), "swapped payloads");
        assert_ne!(straight, after(&[(1, 10)]), "lost event");
    }

    #[test]
    fn the_shape_of_a_value_counts() {
        let of = |value: &dyn Fn(&mut Digest) -> Result<(), WalkError>| {
            let mut digest = Digest::new();
            value(&mut digest).expect("serializable");
            digest
        };
        assert_ne!(
            of(&|d| d.value(&(vec![1u8], vec![2u8, 3]))),
            of(&|d| d.value(&(vec![1u8, 2], vec![3u8])))
        );
        assert_ne!(of(&|d| d.value(&Some(0u8))), of(&|d| d.value(&None::<u8>)));
        assert_ne!(of(&|d| d.value("ab")), of(&|d| d.value("ac")));
        assert_ne!(of(&|d| d.value(&0.0f64)), of(&|d| d.value(&-0.0f64)));
    }
}
