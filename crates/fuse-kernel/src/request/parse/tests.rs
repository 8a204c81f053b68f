//! Hostile bytes never panic; well-formed messages have the kernel's meaning.

use super::*;
use crate::abi::flags::{self, InitFlags, SetAttrValid};
use crate::{SetTime, Timestamp};
use proptest::prelude::*;
use zerocopy::IntoBytes;

const OPCODES: std::ops::Range<u32> = 0..60;

fn message(opcode: u32, node: u64, extensions: u16, body: &[u8]) -> Bytes {
    let header = InHeader {
        len: u32::try_from(IN_HEADER_BYTES + body.len()).expect("small"),
        opcode,
        unique: 7,
        nodeid: node,
        uid: 1,
        gid: 2,
        pid: 3,
        total_extlen: extensions,
        padding: 0,
    };
    Bytes::from([header.as_bytes(), body].concat())
}

fn operation_of(opcode: u32, body: &[u8]) -> Operation {
    match parse(message(opcode, 5, 0, body), InitFlags::empty()) {
        Ok(Message::Request { request, .. }) => request.operation,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, bits: u64) {
        let _ = parse(Bytes::from(bytes), InitFlags::from_bits_retain(bits));
    }

    #[test]
    fn arbitrary_bodies_never_panic(
        opcode in OPCODES, extensions in 0u16..9, body in proptest::collection::vec(any::<u8>(), 0..200)
    ) {
        let incoming = parse(message(opcode, 1, extensions, &body), InitFlags::all());
        prop_assert!(incoming.is_ok());
    }

    #[test]
    fn any_name_without_nul_comes_through(name in proptest::collection::vec(1u8.., 0..300)) {
        let body = [&name[..], &[0]].concat();
        prop_assert_eq!(operation_of(opcode::LOOKUP, &body), Operation::Lookup { name: name.into() });
    }

    #[test]
    fn a_payload_shorter_than_it_says_is_refused(size in 1u32.., have in 0usize..64) {
        prop_assume!(size as usize > have);
        let record = WriteIn {
            fh: 1, offset: 0, size, write_flags: 0, lock_owner: 0, flags: 0, padding: 0,
        };
        let body = [record.as_bytes(), &vec![0; have]].concat();
        let incoming = parse(message(opcode::WRITE, 1, 0, &body), InitFlags::empty());
        let is_refused = matches!(
            incoming,
            Ok(Message::Malformed { error: ParseError::Truncated { what: "payload", .. }, .. })
        );
        prop_assert!(is_refused);
    }
}

#[test]
fn a_header_that_lies_about_its_length_is_refused() {
    let mut bytes = message(opcode::STATFS, 1, 0, &[]).to_vec();
    bytes.push(0);
    let error = parse(Bytes::from(bytes), InitFlags::empty()).expect_err("refused");
    assert_eq!(
        error,
        ParseError::Length {
            said: 40,
            actual: 41
        }
    );
}

#[test]
fn an_append_shows_its_flag_and_shares_the_buffer() {
    let record = WriteIn {
        fh: 9,
        offset: 4096,
        size: 3,
        write_flags: flags::WRITE_KILL_SUIDGID | flags::WRITE_LOCKOWNER,
        lock_owner: 11,
        flags: libc::O_APPEND as u32,
        padding: 0,
    };
    let bytes = message(opcode::WRITE, 5, 0, &[record.as_bytes(), b"abc"].concat());
    let range = bytes.as_ptr_range();
    let Ok(Message::Request { request, .. }) = parse(bytes, InitFlags::empty()) else {
        panic!("a sound write is refused");
    };
    let Operation::Write(write) = request.operation else {
        panic!("not a write")
    };
    assert!(range.contains(&write.data.as_ptr()));
    assert_eq!(
        (write.flags, write.lock_owner),
        (libc::O_APPEND as u32, Some(11))
    );
    assert!(write.kill_suidgid && !write.from_cache);
    assert_eq!(&write.data[..], b"abc");
}

#[test]
fn extensions_at_the_end_are_not_part_of_the_body() {
    let record = GetXattrIn {
        size: 10,
        padding: 0,
    };
    let body = [record.as_bytes(), b"user.x\0", &[0xff; 16]].concat();
    let incoming = parse(message(opcode::GETXATTR, 1, 2, &body), InitFlags::empty());
    let Ok(Message::Request { request, .. }) = incoming else {
        panic!("{incoming:?}")
    };
    let expected = Operation::GetXattr {
        name: Bytes::from_static(b"user.x"),
        size: 10,
    };
    assert_eq!(request.operation, expected);
}

#[test]
fn now_wins_over_a_given_time() {
    let mut bytes = [0u8; size_of::<SetAttrIn>()];
    let valid = SetAttrValid::MTIME | SetAttrValid::MTIME_NOW | SetAttrValid::ATIME;
    bytes[..4].copy_from_slice(&valid.bits().to_ne_bytes());
    let Operation::SetAttributes(set) = operation_of(opcode::SETATTR, &bytes) else {
        panic!("not a change of attributes")
    };
    assert_eq!(set.mtime, Some(SetTime::Now));
    assert_eq!(
        set.atime,
        Some(SetTime::At(Timestamp {
            seconds: 0,
            nanoseconds: 0
        }))
    );
    assert_eq!((set.size, set.ctime), (None, None));
}

#[test]
fn a_batch_of_forgets_is_bounded_by_what_came() {
    let batch = BatchForgetIn {
        count: u32::MAX,
        dummy: 0,
    };
    let incoming = parse(
        message(opcode::BATCH_FORGET, 0, 0, batch.as_bytes()),
        InitFlags::empty(),
    );
    assert!(matches!(incoming, Ok(Message::Malformed { .. })));
}
