//! Extents against a byte array with a map of its holes.

use bytes::Bytes;
use futago_base::data::{EXTENT_BYTES, Extents};
use futago_base::{Pattern, Payload};
use proptest::prelude::*;

/// The size is small enough that changes collide, and large enough for pieces on both sides of
/// every threshold.
const CHUNK_BYTES: u32 = 160 << 10;

#[derive(Clone, Debug)]
enum Change {
    Write { offset: u32, length: u32, tag: u8 },
    Punch { from: u32, to: u32 },
}

fn offset() -> impl Strategy<Value = u32> {
    prop_oneof![
        0..40_u32,
        0..CHUNK_BYTES,
        (0..40_u32).prop_map(|n| n * 4096)
    ]
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, 0..9000_u32, 60_000..70_000_u32, Just(4096)]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (offset(), length(), any::<u8>()).prop_map(|(offset, length, tag)| Change::Write {
            offset,
            length: length.min(CHUNK_BYTES - offset.min(CHUNK_BYTES)),
            tag,
        }),
        1 => (offset(), length()).prop_map(|(from, length)| Change::Punch { from, to: from + length }),
    ]
}

/// A third of all writes are parts of one of two patterns, so that they often continue each other.
fn pattern(tag: u8) -> Option<Pattern> {
    let seed = u64::from(tag % 2);
    tag.is_multiple_of(3).then_some(Pattern { seed })
}

/// The data of a write. Its bytes differ, so that a shift is detected.
fn data(offset: u32, length: u32, tag: u8) -> Vec<u8> {
    let mut data: Vec<u8> = (0..length)
        .map(|i| tag.wrapping_add((i % 251) as u8))
        .collect();
    if let Some(pattern) = pattern(tag) {
        pattern.fill(offset.into(), &mut data);
    }
    data
}

/// The payload of a write: a pattern, or a slice of a buffer that is sometimes much larger.
fn payload(offset: u32, length: u32, tag: u8) -> Payload {
    if let Some(pattern) = pattern(tag) {
        return Payload::of_pattern(pattern, offset.into(), length as usize);
    }
    let mut buffer = vec![0xee; usize::from(tag) * 8];
    buffer.extend(data(offset, length, tag));
    let buffer_bytes = buffer.len();
    let start = usize::from(tag) * 8;
    Payload::within(Bytes::from(buffer).slice(start..), buffer_bytes)
}

type Model = Vec<Option<u8>>;

fn apply(extents: &mut Extents, model: &mut Model, change: &Change) {
    match *change {
        Change::Write {
            offset,
            length,
            tag,
        } => {
            extents.write(offset, payload(offset, length, tag));
            for (cell, byte) in model[offset as usize..]
                .iter_mut()
                .zip(data(offset, length, tag))
            {
                *cell = Some(byte);
            }
        }
        Change::Punch { from, to } => {
            extents.punch(from, to);
            let end = (to as usize).min(model.len());
            model[(from as usize).min(end)..end].fill(None);
        }
    }
}

fn contents(extents: &Extents, from: u32, to: u32) -> Model {
    let mut read = vec![None; (to - from) as usize];
    for (offset, piece) in extents.read(from, to) {
        assert!(!piece.is_empty());
        for (index, &byte) in piece.bytes().iter().enumerate() {
            let cell = &mut read[(offset - from) as usize + index];
            assert!(cell.is_none(), "two extents hold one byte");
            *cell = Some(byte);
        }
    }
    read
}

fn footprint(model: &Model) -> usize {
    let bytes = model.iter().flatten().count();
    let starts =
        (0..model.len()).filter(|&i| model[i].is_some() && (i == 0 || model[i - 1].is_none()));
    bytes + starts.count() * EXTENT_BYTES
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn extents_read_as_a_byte_array(
        changes in prop::collection::vec(change(), 1..40),
        probes in prop::collection::vec((offset(), length()), 8),
    ) {
        let mut extents = Extents::default();
        let mut model = vec![None; CHUNK_BYTES as usize];
        for change in &changes {
            apply(&mut extents, &mut model, change);
            prop_assert_eq!(extents.footprint_bytes(), footprint(&model), "after {:?}", change);
        }
        prop_assert!(contents(&extents, 0, CHUNK_BYTES) == model);
        prop_assert_eq!(extents.is_empty(), model.iter().all(Option::is_none));
        for (from, length) in probes {
            let to = (from + length).min(CHUNK_BYTES).max(from);
            if to <= CHUNK_BYTES {
                prop_assert!(contents(&extents, from, to) == model[from as usize..to as usize]);
            }
            let find = |wanted: bool| {
                (from..CHUNK_BYTES).find(|&i| model[i as usize].is_some() == wanted)
            };
            prop_assert_eq!(extents.next_data(from), find(true));
            prop_assert_eq!(extents.next_hole(from).min(CHUNK_BYTES.max(from)), find(false).unwrap_or(CHUNK_BYTES.max(from)));
        }
    }
}

/// Writes one byte at a time in an order, and counts the remaining extents.
fn extents_after_bytes(order: impl Iterator<Item = u32>) -> usize {
    let mut extents = Extents::default();
    for offset in order {
        extents.write(offset, Payload::from(Bytes::from_static(b"x")));
    }
    extents.read(0, u32::MAX).len()
}

#[test]
fn bytes_written_in_any_order_become_few_extents() {
    const BYTES: u32 = 64 << 10;
    assert!(extents_after_bytes(0..BYTES) <= 16);
    assert!(extents_after_bytes((0..BYTES).rev()) <= 16);
    let odd_then_even = (0..BYTES / 2)
        .map(|i| i * 2 + 1)
        .chain((0..BYTES / 2).map(|i| i * 2));
    assert!(extents_after_bytes(odd_then_even) <= 16);
    let gaps = (0..BYTES)
        .filter(|i| i % 3 != 2)
        .chain((0..BYTES).filter(|i| i % 3 == 2));
    assert!(extents_after_bytes(gaps) <= 32);
}

#[test]
fn a_small_slice_does_not_keep_a_large_buffer() {
    let buffer = Bytes::from(vec![7; 1 << 20]);
    let slice = Payload::within(buffer.slice(100..200), buffer.len());
    let compact = slice.clone().compact();
    assert_eq!(compact, slice);
    assert_ne!(compact.bytes().as_ptr(), slice.bytes().as_ptr(), "copied");
    let large = Payload::from(buffer).slice(0, 1 << 19 | 1);
    assert_eq!(
        large.clone().compact().bytes().as_ptr(),
        large.bytes().as_ptr(),
        "shared"
    );
}

/// A terabyte in small pieces is as large as one extent.
#[test]
fn a_pattern_takes_no_memory_and_stays_in_one_piece() {
    let (pattern, mut extents) = (Pattern { seed: 7 }, Extents::default());
    let part = |offset: u32| Payload::of_pattern(pattern, offset.into(), 4096);
    let offsets = (0..1000).map(|place| place * 7 % 1000 * 4096);
    for offset in offsets {
        extents.write(offset, part(offset));
    }
    let whole = Payload::of_pattern(pattern, 0, 1000 * 4096);
    assert_eq!(extents.read(0, u32::MAX), [(0, whole)]);
    extents.write(5000, Payload::from(Bytes::from_static(b"x")));
    assert_eq!(extents.read(0, u32::MAX).len(), 3);
    extents.write(4096, part(4096));
    assert_eq!(extents.read(0, u32::MAX).len(), 1);
}

#[test]
fn the_last_offsets_do_not_overflow() {
    let extents = Extents::default();
    assert_eq!(extents.next_data(u32::MAX), None);
    assert_eq!(extents.next_hole(u32::MAX), u32::MAX);
    assert!(extents.read(u32::MAX, u32::MAX).is_empty());
}
