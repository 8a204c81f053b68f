//! Payloads against plain bytes.

use bytes::Bytes;
use futago_base::{Gathered, Pattern, Payload};
use proptest::prelude::*;

/// A part of one of two patterns, or the bytes that it represents.
fn piece() -> impl Strategy<Value = (Payload, Vec<u8>)> {
    (0..2_u64, 0..64_u64, 1..64_usize, any::<bool>()).prop_map(|(seed, offset, length, real)| {
        let pattern = Pattern { seed };
        let mut bytes = vec![0; length];
        pattern.fill(offset, &mut bytes);
        let payload = match real {
            true => Payload::from(Bytes::from(bytes.clone())),
            false => Payload::of_pattern(pattern, offset, length),
        };
        (payload, bytes)
    })
}

proptest! {
    #[test]
    fn payloads_are_equal_if_their_bytes_are((a, bytes_a) in piece(), (b, bytes_b) in piece()) {
        prop_assert_eq!(a == b, bytes_a == bytes_b);
        prop_assert_eq!(&a.bytes()[..], &bytes_a[..]);
    }

    #[test]
    fn a_slice_has_the_bytes_of_its_place((whole, bytes) in piece(), ends in (0..64_usize, 0..64_usize)) {
        let from = ends.0.min(bytes.len());
        let to = ends.1.clamp(from, bytes.len());
        prop_assert_eq!(&whole.slice(from, to).bytes()[..], &bytes[from..to]);
    }

    #[test]
    fn pieces_are_gathered_with_zeros_between_them(
        pieces in prop::collection::vec((0..8_usize, piece()), 0..5),
        after in 0..8_usize,
    ) {
        let mut placed = Vec::new();
        let mut expected = Vec::new();
        for (gap, (payload, bytes)) in pieces {
            expected.resize(expected.len() + gap, 0);
            placed.push((expected.len(), payload));
            expected.extend(bytes);
        }
        expected.resize(expected.len() + after, 0);
        let whole = Payload::gather(expected.len(), &placed);
        prop_assert_eq!(&whole.bytes()[..], &expected[..]);
    }

    #[test]
    fn parts_that_follow_each_other_are_one(cuts in prop::collection::vec(0..1000_usize, 0..8)) {
        let whole = Payload::of_pattern(Pattern { seed: 3 }, 5, 1000);
        let mut cuts = cuts;
        cuts.extend([0, 1000]);
        cuts.sort_unstable();
        let parts: Vec<_> = cuts.windows(2).map(|ends| (ends[0], whole.slice(ends[0], ends[1]))).collect();
        let again = Payload::gather(1000, &parts);
        prop_assert!(!again.takes_memory());
        prop_assert_eq!(again, whole);
    }

    #[test]
    fn one_wrong_byte_is_found(offset in 0_u64..1000, at in 0_usize..100) {
        let pattern = Pattern { seed: 9 };
        let mut data = vec![0; 100];
        pattern.fill(offset, &mut data);
        prop_assert_eq!(pattern.first_difference(offset, &data), None);
        data[at] ^= 1;
        prop_assert_eq!(pattern.first_difference(offset, &data), Some(offset + at as u64));
    }
}

#[test]
fn another_seed_or_place_has_other_contents() {
    let mut data = vec![0; 64];
    Pattern { seed: 0 }.fill(0, &mut data);
    assert!(Pattern { seed: 1 }.first_difference(0, &data).is_some());
    assert!(Pattern { seed: 0 }.first_difference(8, &data).is_some());
}

/// Joins two pieces of `length` bytes in the buffer of earlier data, if possible. Returns the data
/// and what to pass on.
fn joined(length: usize, byte: u8, spare: Payload) -> (Payload, Payload) {
    let mut whole = Gathered::new(2 * length, spare);
    for byte in [byte, byte + 1] {
        whole.push(Bytes::from(vec![byte; length]).into(), length);
    }
    whole.finish()
}

fn address(data: &Payload) -> *const u8 {
    data.bytes().as_ptr()
}

#[test]
fn a_buffer_is_used_again_when_its_data_is_dropped() {
    let (data, spare) = joined(100, 1, Payload::empty());
    let first = address(&data);
    drop(data);
    let (data, spare) = joined(100, 3, spare);
    assert_eq!(address(&data), first);
    assert_eq!(&data.bytes()[99..101], [3, 4]);
    let (other, _) = joined(100, 5, spare);
    assert_ne!(address(&other), first, "its data is in use");
    assert_eq!(&data.bytes()[99..101], [3, 4]);
}

#[test]
fn a_buffer_that_is_much_too_large_is_not_used() {
    for (length, capacity) in [(60, 200), (40, 80)] {
        let (_, spare) = joined(100, 1, Payload::empty());
        let bytes = joined(length, 3, spare).0.bytes();
        let buffer = bytes.try_into_mut().expect("nobody else uses it");
        assert_eq!(buffer.capacity(), capacity);
    }
}
