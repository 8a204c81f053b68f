//! The checksum of messages, computed by the fastest instructions of the CPU.

use crc_fast::{CrcAlgorithm, Digest};

/// Continues a CRC-32C (Castagnoli; RFC 3720, appendix B.4) over `bytes`.
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    let state = u64::from(!crc);
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, state);
    digest.update(bytes);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn another_implementation_finds_the_same_at_once_or_in_parts(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            at in any::<prop::sample::Index>(),
        ) {
            let (head, tail) = bytes.split_at(at.index(bytes.len() + 1));
            let expected = crc32c::crc32c(&bytes);
            prop_assert_eq!(crc32c_append(0, &bytes), expected);
            prop_assert_eq!(crc32c_append(crc32c_append(0, head), tail), expected);
        }
    }
}
