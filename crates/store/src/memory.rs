//! The state of a server in memory.

use crate::records::Records;
use futago_base::{
    Batch, ChunkId, DataChange, Key, Moment, Space, Store, Value, View, data::Extents,
    overlay::RECORD_BYTES, record::Sort,
};
use serde::Serialize;
use std::collections::btree_map::Entry as Slot;
use std::{collections::BTreeMap, convert::Infallible, ops::Bound};

/// One part in this many of the memory is reserved for changes that lead to removals, because a
/// full store must be able to be emptied.
const RESERVE_SHARE: u64 = 32;

/// Records and data of one server, in memory, with exact accounting.
///
/// The store applies every batch. The handler that composes a batch checks that it fits
/// ([`Overlay::fits`](futago_base::Overlay::fits)) against [`View::space`].
#[derive(Debug, Serialize)]
pub struct MemoryStore {
    records: Records,
    chunks: BTreeMap<ChunkId, Extents>,
    space: Space,
    /// The bytes that data takes, of those in `space`.
    #[serde(skip)]
    data_bytes: u64,
}

impl MemoryStore {
    /// An empty store for about `memory_bytes` of memory. A 32nd of it is a reserve for removals
    /// (invariant I10); the rest is the limit that [`View::space`] reports.
    pub const fn new(memory_bytes: u64) -> Self {
        Self {
            records: Records::new(),
            chunks: BTreeMap::new(),
            space: Space {
                limit_bytes: memory_bytes - memory_bytes / RESERVE_SHARE,
                used_bytes: 0,
                files: 0,
            },
            data_bytes: 0,
        }
    }

    /// Applies a batch.
    pub fn apply(&mut self, batch: Batch) {
        for (key, value) in batch.records {
            self.set(key, value);
        }
        for change in batch.data {
            self.change(change);
        }
    }

    /// Applies a batch and returns the batch that undoes it exactly.
    pub fn apply_with_undo(&mut self, batch: Batch) -> Batch {
        let records = batch.records.into_iter();
        let records = records.map(|(key, value)| (key.clone(), self.set(key, value)));
        let records = records.collect();
        let mut data = Vec::new();
        for change in batch.data {
            data.push(self.inverse(&change));
            self.change(change);
        }
        Batch {
            records,
            data: data.into_iter().rev().flatten().collect(),
        }
    }

    /// The bytes that data takes, and its extents.
    pub const fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// All records, in the order of their keys.
    pub fn records(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.records.iter()
    }

    /// The records after a key, or all, in the order of their keys.
    pub fn records_after(&self, after: Option<&Key>) -> impl Iterator<Item = (&Key, &Value)> {
        self.records.after(after)
    }

    /// The chunks that hold data after one, or all.
    pub fn chunks_after(
        &self,
        after: Option<ChunkId>,
    ) -> impl Iterator<Item = (ChunkId, &Extents)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let chunks = self.chunks.range((from, Bound::Unbounded));
        chunks.map(|(&chunk, extents)| (chunk, extents))
    }

    /// All chunks that hold data.
    pub fn chunks(&self) -> impl Iterator<Item = (ChunkId, &Extents)> {
        self.chunks.iter().map(|(&chunk, extents)| (chunk, extents))
    }

    /// Sets or removes a record and returns its previous value.
    pub fn set(&mut self, key: Key, value: Option<Value>) -> Option<Value> {
        let is_inode = matches!(key, Key::Inode(_));
        self.account(is_inode, value.as_ref(), true);
        let before = match value {
            Some(value) => self.records.insert(key, value),
            None => self.records.remove(&key),
        };
        self.account(is_inode, before.as_ref(), false);
        before
    }

    fn account(&mut self, is_inode: bool, value: Option<&Value>, comes: bool) {
        let Some(value) = value else { return };
        let bytes = RECORD_BYTES + value.heap_bytes() as u64;
        let files = u64::from(is_inode);
        if comes {
            self.space.used_bytes += bytes;
            self.space.files += files;
        } else {
            self.space.used_bytes -= bytes;
            self.space.files -= files;
        }
    }

    /// Applies a change of data.
    pub fn change(&mut self, change: DataChange) {
        let mut slot = match self.chunks.entry(change.chunk()) {
            Slot::Occupied(slot) => slot,
            Slot::Vacant(_) if matches!(change, DataChange::Punch { .. }) => return,
            Slot::Vacant(slot) => slot.insert_entry(Extents::default()),
        };
        let extents = slot.get_mut();
        let before = extents.footprint_bytes() as u64;
        extents.change(&change);
        let after = extents.footprint_bytes() as u64;
        self.data_bytes = self.data_bytes + after - before;
        self.space.used_bytes = self.space.used_bytes + after - before;
        if extents.is_empty() {
            slot.remove();
        }
    }

    /// The changes that restore the data that `change` is about to replace.
    fn inverse(&self, change: &DataChange) -> Vec<DataChange> {
        let (from, to) = match change {
            DataChange::Write {
                offset, payload, ..
            } => (*offset, offset + payload.len() as u32),
            DataChange::Punch { from, to, .. } => (*from, *to),
        };
        let chunk = change.chunk();
        let pieces = self.data(chunk).map(|extents| extents.read(from, to));
        let writes = pieces.into_iter().flatten();
        let writes = writes.map(|(offset, payload)| DataChange::Write {
            chunk,
            offset,
            payload,
        });
        let hole = DataChange::Punch { chunk, from, to };
        std::iter::once(hole).chain(writes).collect()
    }
}

impl Store for MemoryStore {
    type Error = Infallible;

    fn commit(&mut self, batch: Batch, _decided: Moment) {
        self.apply(batch);
    }

    fn persist(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl View for MemoryStore {
    fn get(&self, key: &Key) -> Option<&Value> {
        self.records.get(key)
    }

    fn range(&self, from: Key, to: Key) -> impl Iterator<Item = (&Key, &Value)> {
        self.records.range(from, to)
    }

    fn has_any(&self, sort: Sort) -> bool {
        self.records.has_any(sort)
    }

    fn data(&self, chunk: ChunkId) -> Option<&Extents> {
        self.chunks.get(&chunk)
    }

    fn space(&self) -> Space {
        self.space
    }
}
