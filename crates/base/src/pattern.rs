//! Data that is computed instead of stored.

use core::ops::Range;
use serde::{Deserialize, Serialize};

/// Endless data. Each aligned word is a function of the seed and the word's offset, so that every
/// byte identifies its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// Distinguishes patterns.
    pub seed: u64,
}

const WORD_BYTES: u64 = 8;

/// 2^64 over the golden ratio: multiples of it are spread evenly (Knuth, TAOCP 3, 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Pattern {
    const fn word(self, number: u64) -> [u8; WORD_BYTES as usize] {
        (self.seed ^ number.wrapping_mul(GOLDEN)).to_le_bytes()
    }

    /// The word at an offset and the part of it from there to its end, at most `bytes` long.
    fn piece(self, at: u64, bytes: usize) -> ([u8; WORD_BYTES as usize], Range<usize>) {
        let word = self.word(at / WORD_BYTES);
        let begin = (at % WORD_BYTES) as usize;
        (word, begin..word.len().min(begin + bytes))
    }

    /// Fills `buffer` with the data at `offset`.
    pub fn fill(self, offset: u64, buffer: &mut [u8]) {
        let (head, whole) = buffer.split_at_mut(bytes_to_word(offset).min(buffer.len()));
        self.fill_pieces(offset, head);
        let at = offset + head.len() as u64;
        let (words, tail) = whole.as_chunks_mut();
        for (number, word) in (at / WORD_BYTES..).zip(&mut *words) {
            *word = self.word(number);
        }
        self.fill_pieces(at + words.as_flattened().len() as u64, tail);
    }

    fn fill_pieces(self, offset: u64, buffer: &mut [u8]) {
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

    /// The offset of the first byte that differs from the pattern, in `data` that was read at
    /// `offset`.
    pub fn first_difference(self, offset: u64, data: &[u8]) -> Option<u64> {
        let (head, whole) = data.split_at(bytes_to_word(offset).min(data.len()));
        self.difference_in_pieces(offset, head).or_else(|| {
            let at = offset + head.len() as u64;
            let (words, _) = whole.as_chunks();
            let numbered = (at / WORD_BYTES..).zip(words);
            let same = numbered.take_while(|&(number, word)| self.word(number) == *word);
            let same_bytes = same.count() * WORD_BYTES as usize;
            self.difference_in_pieces(at + same_bytes as u64, &whole[same_bytes..])
        })
    }

    fn difference_in_pieces(self, offset: u64, data: &[u8]) -> Option<u64> {
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

/// The bytes from an offset to the next word.
const fn bytes_to_word(offset: u64) -> usize {
    (offset.next_multiple_of(WORD_BYTES) - offset) as usize
}
