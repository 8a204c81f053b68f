//! Hostile messages. Decoding any bytes yields a message or an error, and a decoded message encodes
//! to bytes that decode to the same message.
//!
//! The checksum is not checked here, so that the fuzzer gets beyond it.
#![no_main]

use bytes::Bytes;
use futago_base::Payload;
use futago_wire::Frame;
use libfuzzer_sys::fuzz_target;

const fn no_checksum(_: u32, _: &[u8]) -> u32 {
    0
}

fn decode(bytes: &[u8]) -> Option<Frame> {
    let (head, rest) = bytes.split_first_chunk()?;
    let lengths = Frame::lengths(head).ok()?;
    let body = rest.get(..lengths.body_bytes)?;
    let (payload, sum) = rest[lengths.body_bytes..].split_at_checked(lengths.payload_bytes)?;
    if sum.len() != lengths.data_sum_bytes {
        return None;
    }
    let payload = Payload::from(Bytes::copy_from_slice(payload));
    Frame::decode(head, body, payload, no_checksum).ok()
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(frame) = decode(bytes) {
        let again = frame.encode(no_checksum).concat();
        assert_eq!(decode(&again), Some(frame));
    }
});
