//! What benchmarks write: data that tells where it belongs, so that every byte that is read back can
//! be checked.

/// The contents of one file: each aligned word is a hash of the file's seed and the word's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    seed: u64,
}

const WORD_BYTES: u64 = 8;

/// The finishing function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(super) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Contents {
    /// The contents of file `index` of `client`.
    pub const fn of(client: u32, index: u64) -> Self {
        Self {
            seed: mix(mix(client as u64) ^ index),
        }
    }

    const fn word(self, number: u64) -> [u8; WORD_BYTES as usize] {
        (self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()
    }

    /// Fills `buffer` with what belongs at `offset`.
    pub fn fill(self, offset: u64, buffer: &mut [u8]) {
        let mut at = offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let word = self.word(at / WORD_BYTES);
            let skipped = (at % WORD_BYTES) as usize;
            let length = rest.len().min(word.len() - skipped);
            let (head, tail) = rest.split_at_mut(length);
            head.copy_from_slice(&word[skipped..skipped + length]);
            at += length as u64;
            rest = tail;
        }
    }

    /// The offset of the first byte of `data`, read at `offset`, that is not what belongs there.
    pub fn first_difference(self, offset: u64, data: &[u8]) -> Option<u64> {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let word = self.word(at / WORD_BYTES);
            let skipped = (at % WORD_BYTES) as usize;
            let length = rest.len().min(word.len() - skipped);
            let (head, tail) = rest.split_at(length);
            if head != &word[skipped..skipped + length] {
                let same = head
                    .iter()
                    .zip(&word[skipped..])
                    .take_while(|(a, b)| a == b);
                return Some(at + same.count() as u64);
            }
            at += length as u64;
            rest = tail;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_fit_together(offset in 0_u64..1000, cut in 0_usize..100, length in 100_usize..200) {
            let contents = Contents::of(1, 2);
            let mut whole = vec![0; length];
            contents.fill(offset, &mut whole);
            let mut parts = vec![0; length];
            let (head, tail) = parts.split_at_mut(cut);
            contents.fill(offset, head);
            contents.fill(offset + cut as u64, tail);
            prop_assert_eq!(&whole, &parts);
            prop_assert_eq!(contents.first_difference(offset, &whole), None);
        }

        #[test]
        fn one_wrong_byte_is_found(offset in 0_u64..1000, at in 0_usize..100) {
            let contents = Contents::of(1, 2);
            let mut data = vec![0; 100];
            contents.fill(offset, &mut data);
            data[at] ^= 1;
            prop_assert_eq!(contents.first_difference(offset, &data), Some(offset + at as u64));
        }
    }

    #[test]
    fn another_file_or_place_has_other_contents() {
        let mut data = vec![0; 64];
        Contents::of(0, 0).fill(0, &mut data);
        assert!(Contents::of(0, 1).first_difference(0, &data).is_some());
        assert!(Contents::of(1, 0).first_difference(0, &data).is_some());
        assert!(Contents::of(0, 0).first_difference(8, &data).is_some());
    }
}
