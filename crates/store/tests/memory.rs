//! The memory store against a plain model, and its undo.

#![allow(clippy::unwrap_used, reason = "strategies are test code too")]

mod batches;

use batches::{CHUNK_BYTES, batch, record};
use futago_base::{
    Batch, ChunkId, DataChange, Value, View, data::EXTENT_BYTES, overlay::RECORD_BYTES, record::Key,
};
use futago_store::MemoryStore;
use proptest::prelude::*;
use std::collections::BTreeMap;

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
