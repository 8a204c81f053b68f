//! Random batches.

use bytes::Bytes;
use futago_base::{
    Batch, ChunkId, DataChange, FileId, Kind, Name, NameHash, Partition, Pattern, Payload,
    Timestamp, Value, XattrName,
    record::{Entry, Inode, Key, Truncations},
};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub const CHUNK_BYTES: usize = 600;

pub fn file(counter: u64) -> FileId {
    FileId::new(Partition(3), counter)
}

pub fn inode(target: &[u8]) -> Inode {
    Inode {
        kind: Kind::Symlink,
        mode: 0o777,
        uid: 0,
        gid: 0,
        links: 1,
        linkable: false,
        device: 0,
        size: 0,
        reach: 0,
        ahead: false,
        sparse: false,
        announced: false,
        released: false,
        chunk_bytes: 4096,
        accessed: Timestamp::default(),
        modified: Timestamp::default(),
        changed: Timestamp::default(),
        born: Timestamp::default(),
        truncations: Truncations::default(),
        cuts_pending: 0,
        target: Bytes::copy_from_slice(target),
        place: None,
    }
}

pub fn record() -> impl Strategy<Value = (Key, Option<Value>)> {
    let bytes = prop::collection::vec(any::<u8>(), 0..50);
    let xattr =
        (0..4_u64, 0..4_u8, prop::option::of(bytes.clone())).prop_map(|(id, name, value)| {
            let name = XattrName::new(format!("user.name.{name}").into_bytes()).unwrap();
            (
                Key::Xattr(file(id), name),
                value.map(|v| Value::Bytes(Bytes::from(v))),
            )
        });
    let node = (0..4_u64, prop::option::of(bytes))
        .prop_map(|(id, target)| (Key::Inode(file(id)), target.map(|t| Value::from(inode(&t)))));
    let number = (0..4_u16, prop::option::of(any::<u64>()))
        .prop_map(|(p, n)| (Key::Allocator(Partition(p)), n.map(Value::Number)));
    // Neighbouring hashes share a rank, and names may share a hash.
    let entry =
        (0..3_u64, 0..40_u64, 0..2_u8, any::<bool>()).prop_map(|(id, hash, name, present)| {
            let name = Name::new(vec![b'a' + name]).unwrap();
            let entry = Entry {
                id: file(hash),
                kind: Kind::File,
            };
            (
                Key::Entry(file(id), NameHash(hash), name),
                present.then_some(Value::Entry(entry)),
            )
        });
    prop_oneof![xattr, node, number, entry]
}

fn data_change() -> impl Strategy<Value = DataChange> {
    let chunk = (0..3_u64, 0..2_u64).prop_map(|(id, index)| ChunkId {
        file: file(id),
        index,
    });
    (chunk, 0..500_u32, 0..100_u32, any::<u8>(), any::<bool>()).prop_map(
        |(chunk, offset, length, byte, write)| {
            if write {
                let payload = match byte % 3 {
                    0 => Payload::of_pattern(Pattern { seed: 1 }, offset.into(), length as usize),
                    _ => Payload::from(Bytes::from(vec![byte; length as usize])),
                };
                DataChange::Write {
                    chunk,
                    offset,
                    payload,
                }
            } else {
                let to = if byte < 40 {
                    CHUNK_BYTES as u32
                } else {
                    offset + length
                };
                let from = if byte < 20 { 0 } else { offset };
                DataChange::Punch { chunk, from, to }
            }
        },
    )
}

pub fn batch() -> impl Strategy<Value = Batch> {
    let records = prop::collection::vec(record(), 0..8);
    (records, prop::collection::vec(data_change(), 0..5)).prop_map(|(records, data)| Batch {
        records: records
            .into_iter()
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect(),
        data,
    })
}
