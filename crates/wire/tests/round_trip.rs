//! Messages decode to the sent ones, and hostile bytes decode to errors.

mod samples;

use bytes::Bytes;
use futago_base::{BucketStart, Payload, limits};
use futago_wire::{
    DecodeError, Failure, Frame,
    codec::{self, HEADER_BYTES, VERSION},
};
use proptest::prelude::*;

fn encode(frame: &Frame) -> Vec<u8> {
    frame.encode(crc32c::crc32c_append).concat()
}

/// Decodes as a receiver does: the head, then the lengths that the head announces.
fn decode(bytes: &[u8]) -> Result<Frame, DecodeError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(DecodeError::Truncated)?;
    let lengths = Frame::lengths(head)?;
    let body = rest
        .get(..lengths.body_bytes)
        .ok_or(DecodeError::Truncated)?;
    let (payload, sum) = rest[lengths.body_bytes..]
        .split_at_checked(lengths.payload_bytes)
        .ok_or(DecodeError::Truncated)?;
    let expected = crc32c::crc32c_append(lengths.head_sum, payload).to_le_bytes();
    if sum != &expected[..lengths.data_sum_bytes] {
        return Err(DecodeError::Checksum);
    }
    let payload = Bytes::copy_from_slice(payload);
    Frame::decode(head, body, Payload::from(payload), crc32c::crc32c_append)
}

#[test]
fn every_message_comes_back_as_it_was() {
    for (name, frame) in samples::frames() {
        assert_eq!(decode(&encode(&frame)), Ok(frame), "{name}");
    }
}

/// The arithmetic of buckets would overflow.
#[test]
fn buckets_that_cannot_be_are_refused() {
    let possible = Failure::Moved {
        bucket: BucketStart((1 << 63) - 1),
        level: 63,
    };
    assert_eq!(codec::decode(&codec::encode(&possible)), Ok(possible));
    for (bucket, level) in [(1 << 63, 0), (0, 64), (0, u8::MAX)] {
        let moved = Failure::Moved {
            bucket: BucketStart(bucket),
            level,
        };
        let refused = codec::decode::<Failure>(&codec::encode(&moved));
        assert_eq!(refused, Err(DecodeError::Body));
    }
}

#[test]
fn the_payload_is_not_copied() {
    let (_, frame) = samples::frames()
        .into_iter()
        .find(|(name, _)| *name == "write")
        .expect("write");
    let [_, payload, _] = frame.encode(crc32c::crc32c_append);
    assert_eq!(payload.as_ptr(), frame.payload.bytes().as_ptr());
}

#[test]
fn another_version_is_refused_by_name() {
    let (_, frame) = samples::frames().remove(0);
    let mut bytes = encode(&frame);
    let other = VERSION + 1;
    bytes[4..6].copy_from_slice(&other.to_le_bytes());
    let refused = decode(&bytes).expect_err("another version was accepted");
    assert_eq!(refused, DecodeError::Version(other));
    let text = refused.to_string();
    assert!(
        text.contains(&format!("version {other}")) && text.contains(&VERSION.to_string()),
        "{text}"
    );
}

#[test]
fn announced_lengths_are_bounded() {
    let (_, frame) = samples::frames().remove(0);
    let bytes = encode(&frame);
    for (at, bound) in [(12, limits::BODY_BYTES), (16, limits::PAYLOAD_BYTES)] {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&(bound as u32 + 1).to_le_bytes());
        let head = bytes.first_chunk::<HEADER_BYTES>().expect("a head");
        assert!(matches!(Frame::lengths(head), Err(DecodeError::Length(..))));
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for (name, frame) in samples::frames() {
        let bytes = encode(&frame);
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes).is_err(), "{name}: bit {bit}");
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_an_error_and_never_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        prop_assert!(decode(&bytes).is_err());
    }

    /// Random bodies after a valid head with a valid checksum, which only decoding can refuse.
    #[test]
    fn random_bodies_never_panic(
        kind in 0_u8..5,
        body in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let (_, frame) = samples::frames().remove(0);
        let mut head = encode(&frame)[..HEADER_BYTES].to_vec();
        head[6] = kind;
        head[12..16].copy_from_slice(&(body.len() as u32).to_le_bytes());
        head[16..24].fill(0);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&head), &body);
        head[20..24].copy_from_slice(&crc.to_le_bytes());
        if let Ok(frame) = decode(&[head, body].concat()) {
            prop_assert_eq!(decode(&encode(&frame)), Ok(frame));
        }
    }
}
