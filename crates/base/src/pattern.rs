//! Data that can be computed instead of being kept.

use core::ops::Range;
use serde::{Deserialize, Serialize};

/// Endless data: each aligned word is a function of the seed and the word's place, so that every
/// byte tells where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// What tells one from another.
    pub seed: u64,
}

const WORD_BYTES: u64 = 8;

/// 2^64 over the golden ratio: multiples of it are spread evenly (Knuth, TAOCP 3, 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Pattern {
    const fn word(self, number: u64) -> [u8; WORD_BYTES as usize] {
        (self.seed ^ number.wrapping_mul(GOLDEN)).to_le_bytes()
    }

    /// What belongs at an offset, up to the end of its word: the word, and which part of it.
    fn piece(self, at: u64, bytes: usize) -> ([u8; WORD_BYTES as usize], Range<usize>) {
        let word = self.word(at / WORD_BYTES);
        let begin = (at % WORD_BYTES) as usize;
        (word, begin..word.len().min(begin + bytes))
    }

    /// Fills `buffer` with what belongs at `offset`.
    pub fn fill(self, offset: u64, buffer: &mut [u8]) {
        let mut at = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let (word, part) = self.piece(at, rest.len());
            let (head, tail) = rest.split_at_mut(part.len());
            at += part.len() as u64;
            head.copy_from_slice(&word[part]);
            rest = tail;
        }
    }

    /// The offset of the first byte of `data`, read at `offset`, that is not what belongs there.
    pub fn first_difference(self, offset: u64, data: &[u8]) -> Option<u64> {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let (word, part) = self.piece(at, rest.len());
            let (head, tail) = rest.split_at(part.len());
            let expected = &word[part];
            if head != expected {
                let same = head.iter().zip(expected).take_while(|(a, b)| a == b);
                return Some(at + same.count() as u64);
            }
            at += head.len() as u64;
            rest = tail;
        }
        None
    }
}
