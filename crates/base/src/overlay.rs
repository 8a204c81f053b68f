//! The uncommitted changes of a handler on top of a [`View`].

use crate::{
    Batch, ChunkId, DataChange, FileId, Key, Payload, Space, Value, View, Work,
    data::{EXTENT_BYTES, Extents},
    record::{Header, Inode, Rank, Sort},
};
use alloc::{borrow::Cow, vec::Vec};
use core::{
    cell::Cell,
    cmp::Ordering,
    iter::{self, Peekable},
};

/// A view with the changes of the decision in progress.
///
/// Reads return changed records and data.
pub struct Overlay<'view, V> {
    base: &'view V,
    records: Changes,
    data: Vec<DataChange>,
    read: Cell<u32>,
    scanned: Cell<u32>,
}

/// The state of an [`Overlay`] at some moment.
pub struct Savepoint {
    records: Changes,
    data: usize,
}

/// Approximate overhead of a stored record, in bytes: key, value and tree node.
pub const RECORD_BYTES: u64 = 192;

impl<'view, V: View> Overlay<'view, V> {
    /// An overlay of `base` without changes.
    pub const fn new(base: &'view V) -> Self {
        Self {
            base,
            records: Changes::new(),
            data: Vec::new(),
            read: Cell::new(0),
            scanned: Cell::new(0),
        }
    }

    /// The record named `key`, as changed.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.read.update(|read| read + 1);
        match self.records.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.base.get(key),
        }
    }

    /// Sets a record.
    pub fn put(&mut self, key: Key, value: impl Into<Value>) {
        self.records.insert(key, Some(value.into()));
    }

    /// Removes a record.
    pub fn delete(&mut self, key: Key) {
        self.records.insert(key, None);
    }

    /// The records from `from` up to but not including `to`, as changed, in order.
    pub fn range(&self, from: Key, to: Key) -> impl Iterator<Item = (&Key, &Value)> {
        let changes = self.records.range(&from, &to).peekable();
        let merged = Merged {
            base: self.base.range(from, to).peekable(),
            changes,
        };
        merged.inspect(|_| self.scanned.update(|scanned| scanned + 1))
    }

    /// Whether there may be records of a kind: the base has some, or the overlay has changed some.
    pub fn may_have(&self, sort: Sort) -> bool {
        let rank = Key::whole_sort(sort).0.rank();
        let mut changes = self.records.changes();
        self.base.has_any(sort) || changes.any(|change| change.rank.sort() == rank.sort())
    }

    /// The data of a chunk, as changed.
    pub fn data(&self, chunk: ChunkId) -> Option<Cow<'view, Extents>> {
        let before = self.base.data(chunk).map(Cow::Borrowed);
        let mut changes = self.data.iter().filter(|change| change.chunk() == chunk);
        changes.next().map_or(before.clone(), |first| {
            let mut extents = before.unwrap_or_default();
            for change in iter::once(first).chain(changes) {
                extents.to_mut().change(change);
            }
            Some(extents)
        })
    }

    /// Adds a change of data.
    pub fn change_data(&mut self, change: DataChange) {
        self.data.push(change);
    }

    /// Puts `payload` into a chunk.
    pub fn write_data(&mut self, chunk: ChunkId, offset: u32, payload: Payload) {
        self.change_data(DataChange::Write {
            chunk,
            offset,
            payload,
        });
    }

    /// The occupancy of the store before this decision.
    pub fn space(&self) -> Space {
        self.base.space()
    }

    /// The value of a number record; 0 if it does not exist.
    pub fn number(&self, key: &Key) -> u64 {
        self.get(key).and_then(Value::number).copied().unwrap_or(0)
    }

    /// A file's inode.
    pub fn inode(&self, id: FileId) -> Option<&Inode> {
        self.get(&Key::Inode(id)).and_then(Value::inode)
    }

    /// Sets a file's inode.
    pub fn put_inode(&mut self, id: FileId, inode: Inode) {
        self.put(Key::Inode(id), inode);
    }

    /// Changes a file's inode; does nothing if the file does not exist.
    pub fn update_inode(&mut self, id: FileId, change: impl FnOnce(&mut Inode)) {
        if let Some(mut inode) = self.inode(id).cloned() {
            change(&mut inode);
            self.put_inode(id, inode);
        }
    }

    /// A bucket's header.
    pub fn header(&self, directory: FileId, bucket: crate::BucketStart) -> Option<Header> {
        self.get(&Key::Header(directory, bucket))
            .and_then(Value::header)
            .copied()
    }

    /// Whether the changes fit into the free space.
    ///
    /// Only handlers of growing changes ask. Removals always succeed, because a store has a reserve
    /// beyond its limit (invariant I10).
    pub fn fits(&self) -> bool {
        let free_bytes = self.space().free_bytes();
        // Most changes fit even if all records were new; then no lookup is needed.
        self.growth_bytes(|_| 0) <= free_bytes
            || self.growth_bytes(|key| self.base_bytes(key)) <= free_bytes
    }

    /// The bytes that a record took before the changes.
    fn base_bytes(&self, key: &Key) -> u64 {
        let before = self.base.get(key);
        before.map_or(0, |value| RECORD_BYTES + value.heap_bytes() as u64)
    }

    /// An upper bound of the bytes that the changes add to the store, given the previous size of
    /// each record.
    ///
    /// Removed bytes are not subtracted, because they are free only once the batch is applied.
    fn growth_bytes(&self, before_bytes: impl Fn(&Key) -> u64) -> u64 {
        let records = self.records.iter().filter_map(|(key, value)| {
            let bytes = RECORD_BYTES + value.as_ref()?.heap_bytes() as u64;
            Some(bytes.saturating_sub(before_bytes(key)))
        });
        let data = self.data.iter().map(|change| match change {
            DataChange::Write { payload, .. } => (payload.len() + EXTENT_BYTES) as u64,
            DataChange::Punch { .. } => EXTENT_BYTES as u64,
        });
        records.sum::<u64>() + data.sum::<u64>()
    }

    /// The nodes whose leased state ([`Key::leased_node`]) the changes affect; a node may occur
    /// several times.
    pub fn changed_nodes(&self) -> impl Iterator<Item = FileId> {
        self.records.iter().filter_map(|(key, _)| key.leased_node())
    }

    /// The changes so far, for [`Overlay::restore`].
    pub fn savepoint(&self) -> Savepoint {
        Savepoint {
            records: self.records.clone(),
            data: self.data.len(),
        }
    }

    /// Discards the changes since the savepoint.
    pub fn restore(&mut self, savepoint: Savepoint) {
        self.records = savepoint.records;
        self.data.truncate(savepoint.data);
    }

    /// The work done so far; the caller adds the messages that it sends.
    pub fn work(&self) -> Work {
        let written = self.data.iter().map(|change| match change {
            DataChange::Write { payload, .. } => payload.len() as u64,
            DataChange::Punch { .. } => 0,
        });
        Work {
            records_read: self.read.get(),
            records_scanned: self.scanned.get(),
            records_written: self.records.changes().count() as u32,
            data_bytes: written.sum(),
            messages: 0,
        }
    }

    /// The changes as one batch.
    pub fn into_batch(self) -> Batch {
        Batch {
            records: self.records.into_records(),
            data: self.data,
        }
    }
}

/// Changed records in the order of their keys.
///
/// A decision rarely changes more than a dozen, so one list is faster than a tree. A decision that
/// changes thousands, such as the end of a session, has several lists.
#[derive(Clone)]
struct Changes {
    first: Vec<Change>,
    /// The lists after the first; none of them is empty.
    rest: Vec<Vec<Change>>,
}

#[derive(Clone)]
struct Change {
    rank: Rank,
    key: Key,
    value: Option<Value>,
}

/// The place of a change: its list, and its index there.
type Place = (usize, usize);

impl Changes {
    /// The number of changes that most decisions need at most.
    const USUAL: usize = 8;
    /// A list with more changes is cut into halves.
    const LIST_MAX: usize = 128;

    const fn new() -> Self {
        Self {
            first: Vec::new(),
            rest: Vec::new(),
        }
    }

    fn list(&self, list: usize) -> &[Change] {
        match list.checked_sub(1) {
            None => &self.first,
            Some(at) => &self.rest[at],
        }
    }

    fn list_mut(&mut self, list: usize) -> &mut Vec<Change> {
        match list.checked_sub(1) {
            None => &mut self.first,
            Some(at) => &mut self.rest[at],
        }
    }

    /// The place of the change of a key of this rank, or the place at which to insert it.
    fn position(&self, key: &Key, rank: Rank) -> Result<Place, Place> {
        let begins_before = |list: &Vec<Change>| {
            let first = list.first();
            first.is_some_and(|change| (change.rank, &change.key) <= (rank, key))
        };
        let list = self.rest.partition_point(begins_before);
        let changes = self.list(list);
        let mut at = changes.partition_point(|change| change.rank < rank);
        while let Some(change) = changes.get(at).filter(|change| change.rank == rank) {
            match change.key.cmp(key) {
                Ordering::Less => at += 1,
                Ordering::Equal => return Ok((list, at)),
                Ordering::Greater => break,
            }
        }
        Err((list, at))
    }

    fn get(&self, key: &Key) -> Option<&Option<Value>> {
        if self.first.is_empty() {
            return None;
        }
        let (list, at) = self.position(key, key.rank()).ok()?;
        Some(&self.list(list)[at].value)
    }

    fn insert(&mut self, key: Key, value: Option<Value>) {
        let rank = key.rank();
        match self.position(&key, rank) {
            Ok((list, at)) => self.list_mut(list)[at].value = value,
            Err((list, at)) => {
                if self.first.is_empty() {
                    self.first.reserve(Self::USUAL);
                }
                let changes = self.list_mut(list);
                changes.insert(at, Change { rank, key, value });
                if changes.len() > Self::LIST_MAX {
                    let upper = changes.split_off(Self::LIST_MAX / 2);
                    self.rest.insert(list, upper);
                }
            }
        }
    }

    fn changes(&self) -> impl Iterator<Item = &Change> {
        self.first.iter().chain(self.rest.iter().flatten())
    }

    fn iter(&self) -> impl Iterator<Item = (&Key, &Option<Value>)> {
        self.changes().map(|change| (&change.key, &change.value))
    }

    fn range<'a>(
        &'a self,
        from: &Key,
        to: &Key,
    ) -> impl Iterator<Item = (&'a Key, &'a Option<Value>)> + use<'a> {
        let place = |key: &Key| self.position(key, key.rank()).unwrap_or_else(|at| at);
        let (from, to) = (place(from), place(to));
        let within = (from.0..=to.0).flat_map(move |list| {
            let changes = self.list(list);
            let start = if list == from.0 { from.1 } else { 0 };
            let end = if list == to.0 { to.1 } else { changes.len() };
            changes.get(start..end).unwrap_or_default()
        });
        within.map(|change| (&change.key, &change.value))
    }

    fn into_records(self) -> Vec<(Key, Option<Value>)> {
        let changes = self
            .first
            .into_iter()
            .chain(self.rest.into_iter().flatten());
        changes.map(|change| (change.key, change.value)).collect()
    }
}

/// Two ordered ranges merged into one; changes hide the records of the base.
struct Merged<B: Iterator, C: Iterator> {
    base: Peekable<B>,
    changes: Peekable<C>,
}

impl<'a, B, C> Iterator for Merged<B, C>
where
    B: Iterator<Item = (&'a Key, &'a Value)>,
    C: Iterator<Item = (&'a Key, &'a Option<Value>)>,
{
    type Item = (&'a Key, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((changed, _)) = self.changes.peek() else {
                return self.base.next();
            };
            match self.base.peek() {
                Some((key, _)) if key < changed => return self.base.next(),
                Some((key, _)) if key == changed => {
                    self.base.next();
                }
                _ => {
                    if let Some((key, Some(value))) = self.changes.next() {
                        return Some((key, value));
                    }
                }
            }
        }
    }
}
