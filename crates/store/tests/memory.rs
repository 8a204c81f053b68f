//! The memory store against a plain model, and its undo.

#![allow(clippy::unwrap_used, reason = "strategies are test code too")]

use bytes::Bytes;
use futago_base::{
    Batch, ChunkId, DataChange, FileId, Kind, Name, NameHash, Partition, Pattern, Payload,
    Timestamp, Value, View, XattrName,
    data::EXTENT_BYTES,
    overlay::RECORD_BYTES,
    record::{Entry, Inode, Key, Truncations},
};
use futago_store::MemoryStore;
use proptest::prelude::*;
use std::collections::BTreeMap;

const CHUNK_BYTES: usize = 600;

fn file(counter: u64) -> FileId {
    FileId::new(Partition(3), counter)
}

fn inode(target: &[u8]) -> Inode {
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

fn record() -> impl Strategy<Value = (Key, Option<Value>)> {
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

fn batch() -> impl Strategy<Value = Batch> {
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

/// The contents of a store in the simplest form.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    records: BTreeMap<Key, Value>,
    chunks: BTreeMap<ChunkId, Vec<Option<u8>>>,
}

impl Model {
    fn apply(&mut self, batch: &Batch) {
        for (key, value) in &batch.records {
            self.records.remove(key);
            if let Some(value) = value {
                self.records.insert(key.clone(), value.clone());
            }
        }
        for change in &batch.data {
            let chunk = self
                .chunks
                .entry(change.chunk())
                .or_insert(vec![None; CHUNK_BYTES]);
            match change {
                DataChange::Write {
                    offset, payload, ..
                } => {
                    for (index, &byte) in payload.bytes().iter().enumerate() {
                        chunk[*offset as usize + index] = Some(byte);
                    }
                }
                DataChange::Punch { from, to, .. } => {
                    chunk[*from as usize..*to as usize].fill(None)
                }
            }
        }
        self.chunks
            .retain(|_, cells| cells.iter().any(Option::is_some));
    }

    fn used_bytes(&self) -> u64 {
        let records = self
            .records
            .values()
            .map(|v| RECORD_BYTES + v.heap_bytes() as u64);
        let data = self.chunks.values().map(|cells| {
            let bytes = cells.iter().flatten().count();
            let begins = |i: usize| cells[i].is_some() && (i == 0 || cells[i - 1].is_none());
            let runs = (0..cells.len()).filter(|&i| begins(i)).count();
            (bytes + runs * EXTENT_BYTES) as u64
        });
        records.sum::<u64>() + data.sum::<u64>()
    }
}

fn contents(store: &MemoryStore) -> Model {
    let chunks = store.chunks().map(|(chunk, extents)| {
        let mut cells = vec![None; CHUNK_BYTES];
        for (offset, piece) in extents.read(0, CHUNK_BYTES as u32) {
            for (index, &byte) in piece.bytes().iter().enumerate() {
                cells[offset as usize + index] = Some(byte);
            }
        }
        (chunk, cells)
    });
    Model {
        records: store
            .records()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
        chunks: chunks.collect(),
    }
}

proptest! {
    #[test]
    fn a_store_holds_what_batches_put(batches in prop::collection::vec(batch(), 1..12)) {
        let mut store = MemoryStore::new(1 << 30);
        let mut model = Model::default();
        for batch in batches {
            model.apply(&batch);
            store.apply(batch);
            prop_assert_eq!(&contents(&store), &model);
            prop_assert_eq!(store.space().used_bytes, model.used_bytes());
            let inodes = model.records.keys().filter(|key| matches!(key, Key::Inode(_)));
            prop_assert_eq!(store.space().files, inodes.count() as u64);
        }
    }

    #[test]
    fn undo_gives_every_state_back(batches in prop::collection::vec(batch(), 1..12)) {
        let mut store = MemoryStore::new(1 << 30);
        let mut history = Vec::new();
        for batch in batches {
            let before = (contents(&store), store.space());
            let mut twin = before.0.clone();
            twin.apply(&batch);
            let undo = store.apply_with_undo(batch);
            prop_assert_eq!(&contents(&store), &twin);
            history.push((before, undo));
        }
        for ((model, space), undo) in history.into_iter().rev() {
            store.apply(undo);
            prop_assert_eq!(&contents(&store), &model);
            prop_assert_eq!(store.space(), space);
        }
    }

    #[test]
    fn a_range_is_what_lies_between_its_ends(batch in batch(), from in record(), to in record()) {
        let mut store = MemoryStore::new(1 << 30);
        store.apply(batch);
        let (from, to) = (from.0, to.0);
        let within = |key: &Key| *key >= from && *key < to;
        let expected: Vec<_> = store.records().filter(|(key, _)| within(key)).collect();
        prop_assert_eq!(store.range(from.clone(), to.clone()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_reserve_lies_beyond_the_limit() {
    assert_eq!(MemoryStore::new(3200).space().limit_bytes, 3100);
    assert_eq!(
        MemoryStore::new(u64::MAX).space().free_bytes(),
        u64::MAX - u64::MAX / 32
    );
}
