//! Cleaning: the state is appended again, so that older files are not needed any more.

use crate::{
    MemoryStore,
    data::{DataFiles, piece_of},
};
use futago_base::{
    Batch, ChunkId, DataChange, Key, Payload, Value, data::Extents, overlay::RECORD_BYTES,
};
use std::collections::BTreeSet;

/// The approximate size of the name of a piece in the log, in bytes.
const NAME_BYTES: u64 = 64;

/// A pass over all records and data.
#[derive(Debug)]
pub struct Cleaning {
    /// The first entry of the log that is needed after it.
    since: u64,
    next: Next,
    /// The files of data that become unused by it.
    emptied: BTreeSet<u64>,
}

/// The next part.
#[derive(Debug)]
enum Next {
    /// The records after this one, or all.
    Records(Option<Key>),
    /// The chunks after this one, or all.
    Chunks(Option<ChunkId>),
    /// Nothing.
    End,
}

impl Cleaning {
    /// A pass whose first entry has the position `since`, and which empties files of data.
    pub const fn new(since: u64, emptied: BTreeSet<u64>) -> Self {
        Self {
            since,
            next: Next::Records(None),
            emptied,
        }
    }

    /// Whether everything was appended.
    pub const fn is_done(&self) -> bool {
        matches!(self.next, Next::End)
    }

    /// The first entry of the log that is needed after it.
    pub const fn since(&self) -> u64 {
        self.since
    }

    /// A batch that sets about the next `budget` bytes to what they are. Data that only the log
    /// has, or a file that is emptied, gets another place.
    pub fn next(&mut self, memory: &MemoryStore, files: &mut DataFiles, budget: u64) -> Batch {
        match &self.next {
            Next::Records(after) => {
                let records = records(memory, after.as_ref(), budget);
                self.next = match records.last() {
                    Some((last, _)) => Next::Records(Some(last.clone())),
                    None => Next::Chunks(None),
                };
                Batch {
                    records,
                    ..Batch::default()
                }
            }
            Next::Chunks(after) => {
                let cost = |(_, extents): &(ChunkId, &Extents)| self.cost(extents);
                let chunks = within(budget, memory.chunks_after(*after), cost);
                let place =
                    |&(chunk, extents): &(ChunkId, &Extents)| self.writes(chunk, extents, files);
                let data = chunks.iter().flat_map(place).collect();
                self.next = match chunks.last() {
                    Some(&(last, _)) => Next::Chunks(Some(last)),
                    None => Next::End,
                };
                Batch {
                    data,
                    ..Batch::default()
                }
            }
            Next::End => Batch::default(),
        }
    }

    /// The bytes that a chunk adds to the files.
    fn cost(&self, extents: &Extents) -> u64 {
        let pieces = extents.read(0, extents.end()).into_iter();
        let cost = |(_, payload): (u32, Payload)| {
            let moved = if self.moves(&payload) {
                payload.len()
            } else {
                0
            };
            NAME_BYTES + moved as u64
        };
        pieces.map(cost).sum()
    }

    /// Whether a piece needs another place.
    fn moves(&self, payload: &Payload) -> bool {
        let file = piece_of(payload).map(|(piece, _)| piece.name().file);
        file.is_none_or(|file| self.emptied.contains(&file))
    }

    /// The writes that make the data of a chunk.
    fn writes(&self, chunk: ChunkId, extents: &Extents, files: &mut DataFiles) -> Vec<DataChange> {
        let pieces = extents.read(0, extents.end()).into_iter();
        let write = |(offset, payload): (u32, Payload)| DataChange::Write {
            chunk,
            offset,
            payload: if self.moves(&payload) {
                moved(payload, chunk, files)
            } else {
                payload
            },
        };
        pieces.map(write).collect()
    }
}

/// Data at another place, or where it is if it cannot be read.
fn moved(payload: Payload, chunk: ChunkId, files: &mut DataFiles) -> Payload {
    let bytes = payload.bytes();
    if files.take_failed() {
        return payload;
    }
    files.append(chunk, bytes)
}

/// The next records of about `budget` bytes.
fn records(memory: &MemoryStore, after: Option<&Key>, budget: u64) -> Vec<(Key, Option<Value>)> {
    let bytes = |(_, value): &(&Key, &Value)| RECORD_BYTES + value.heap_bytes() as u64;
    let records = within(budget, memory.records_after(after), bytes).into_iter();
    let put = |(key, value): (&Key, &Value)| (key.clone(), Some(value.clone()));
    records.map(put).collect()
}

/// The first elements, up to the one with which they have `budget` bytes.
fn within<T>(budget: u64, all: impl Iterator<Item = T>, bytes: impl Fn(&T) -> u64) -> Vec<T> {
    let mut left = budget;
    let fits = |element: &T| {
        let fits = left > 0;
        left = left.saturating_sub(bytes(element).max(1));
        fits
    };
    all.take_while(fits).collect()
}
