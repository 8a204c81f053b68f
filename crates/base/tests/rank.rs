//! The rank of a key agrees with the order of keys.

#![allow(clippy::unwrap_used, reason = "strategies are test code too")]

use futago_base::{
    BucketStart, ChunkId, FileId, Incarnation, Key, Name, NameHash, Partition, RequestId, ServerId,
    SessionId, TransactionId, XattrName,
    record::{Target, Waiter},
};
use proptest::prelude::*;

/// Critical numbers: near zero, near the ends of ranges, and arbitrary.
fn number() -> impl Strategy<Value = u64> {
    const ENDS: &[u64] = &[0, 1 << 59, 1 << 62, 1 << 63, u64::MAX];
    let near = (prop::sample::select(ENDS), -40..40_i64)
        .prop_map(|(end, step)| end.saturating_add_signed(step));
    prop_oneof![near, any::<u64>()]
}

fn name() -> impl Strategy<Value = Name> {
    let tail = prop::collection::vec(1..3_u8, 0..3);
    let stem = prop::sample::select(&["a", "user.na", "user.nam"] as &[&str]);
    (stem, tail).prop_map(|(stem, tail)| Name::new([stem.as_bytes(), &tail].concat()).unwrap())
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        (number(), number(), name()).prop_map(|(id, hash, name)| Target::Entry(
            FileId(id),
            NameHash(hash),
            name
        )),
        number().prop_map(|id| Target::Inode(FileId(id))),
        (number(), number()).prop_map(|(id, at)| Target::Header(FileId(id), BucketStart(at))),
        Just(Target::Tree),
    ]
}

fn request() -> impl Strategy<Value = RequestId> {
    (number(), number()).prop_map(|(session, sequence)| RequestId {
        session: SessionId(session),
        sequence,
    })
}

fn transaction() -> impl Strategy<Value = TransactionId> {
    request().prop_map(|RequestId { session, sequence }| TransactionId { session, sequence })
}

fn key_of_file() -> impl Strategy<Value = Key> {
    (0..12, number(), number(), name()).prop_map(|(sort, id, second, name)| {
        let file = FileId(id);
        match sort {
            0 => Key::Inode(file),
            1 => Key::Xattr(file, XattrName::new(name.as_bytes().to_vec()).unwrap()),
            2 => Key::Header(file, BucketStart(second)),
            3 => Key::Entry(file, NameHash(second), name),
            4 => Key::Chunk(ChunkId {
                file,
                index: second,
            }),
            5 => Key::SessionFile(SessionId(second), file),
            6 => Key::Opens(file),
            7 => Key::Locks(file),
            8 => Key::Admitted(file),
            9 => Key::Relay(file, ServerId(second as u16)),
            10 => Key::RelayedEntry(file, NameHash(second), name),
            _ => Key::LockWaiters(file),
        }
    })
}

fn key_of_party() -> impl Strategy<Value = Key> {
    (0..12, any::<u16>(), number(), request()).prop_map(|(sort, server, number, id)| {
        let at = ServerId(server);
        match sort {
            0 => Key::Allocator(Partition(server)),
            1 => Key::Reply(id),
            2 => Key::OutboxChannel(at),
            3 => Key::Outbox(at, number),
            4 => Key::Inbox(at),
            5 => Key::OutboxWaiter(at, number, id),
            6 => Key::HeldReply(id),
            7 => Key::EndedLives(at),
            8 => Key::Link(at),
            9 => Key::Consultation(at, number),
            10 => Key::Hint(server),
            _ => Key::Session(SessionId(number)),
        }
    })
}

fn key_of_transaction() -> impl Strategy<Value = Key> {
    prop_oneof![
        Just(Key::TreeVersion),
        target().prop_map(Key::Locator),
        transaction().prop_map(Key::Participant),
        transaction().prop_map(Key::TransactionStatus),
        (transaction(), request())
            .prop_map(|(id, request)| Key::Parked(id, Waiter::Request(request))),
    ]
}

fn waiter() -> impl Strategy<Value = Waiter> {
    prop_oneof![
        request().prop_map(Waiter::Request),
        (any::<u16>(), number(), number()).prop_map(|(sender, from, number)| Waiter::Peer {
            sender: ServerId(sender),
            from: Incarnation(from),
            number,
        }),
    ]
}

fn key_of_lease() -> impl Strategy<Value = Key> {
    (0..6, number(), request(), waiter()).prop_map(|(sort, number, request, waiter)| {
        let (node, session) = (FileId(number), request.session);
        match sort {
            0 => Key::Lease(node, session),
            1 => Key::SessionLease(session, node),
            2 => Key::Recall(node),
            3 => Key::Exclusive(node),
            4 => Key::Waiting(waiter),
            _ => Key::AwaitsRecall(node, waiter),
        }
    })
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        key_of_file(),
        key_of_party(),
        key_of_transaction(),
        key_of_lease()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn a_smaller_key_never_has_a_larger_rank(mut keys in prop::collection::vec(key(), 2..20)) {
        keys.sort();
        prop_assert!(keys.is_sorted_by_key(Key::rank));
        let sort = |key: &Key| key.rank().sort();
        prop_assert!(keys.is_sorted_by_key(sort));
    }
}
