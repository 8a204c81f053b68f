//! The data of one chunk: extents with holes between them.

use crate::{DataChange, Payload};
use alloc::{collections::BTreeMap, vec::Vec};
use serde::{Serialize, Serializer};

/// A piece of data at an offset of a chunk, in bytes.
pub type Piece = (u32, Payload);

/// Adjacent pieces are joined up to this size, so that a chunk written byte by byte does not become
/// a million extents. Larger pieces stay apart, because joining copies them.
const JOIN_BYTES: usize = 64 << 10;

/// An adjacent piece up to this size is always joined, because a copy costs less than an extent.
const SMALL_BYTES: usize = 4 << 10;

/// The overhead of an extent, in bytes: its tree node and the header of its buffer.
pub const EXTENT_BYTES: usize = 96;

/// The extents of one chunk, by offset. They do not overlap; gaps between them read as zeros.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    by_offset: BTreeMap<u32, Payload>,
    footprint_bytes: usize,
}

impl Extents {
    /// The memory that the data takes: its length, and [`EXTENT_BYTES`] for every maximal run of
    /// it.
    ///
    /// The footprint depends only on the contents, so that an undone change restores it exactly.
    /// The memory in use is at most about twice as much, because a slice retains its whole buffer.
    pub const fn footprint_bytes(&self) -> usize {
        self.footprint_bytes
    }

    /// Whether the chunk is one hole.
    pub fn is_empty(&self) -> bool {
        self.by_offset.is_empty()
    }

    /// Applies a change of this chunk.
    pub fn change(&mut self, change: &DataChange) {
        match change {
            DataChange::Write {
                offset, payload, ..
            } => self.write(*offset, payload.clone()),
            DataChange::Punch { from, to, .. } => self.punch(*from, *to),
        }
    }

    /// Replaces the bytes at `offset` by `payload`.
    pub fn write(&mut self, offset: u32, payload: Payload) {
        if payload.is_empty() {
            return;
        }
        let end = offset + payload.len() as u32;
        self.accounting(offset, end, |extents| {
            extents.clear(offset, end);
            let (offset, payload) = extents.join((offset, payload));
            extents.by_offset.insert(offset, payload.compact());
        });
    }

    /// Makes `from..to` a hole.
    pub fn punch(&mut self, from: u32, to: u32) {
        if from < to {
            self.accounting(from, to, |extents| extents.clear(from, to));
        }
    }

    /// The data within `from..to`, in order; gaps between the pieces are holes.
    pub fn read(&self, from: u32, to: u32) -> Vec<Piece> {
        let first = self.start_at_or_before(from);
        self.by_offset
            .range(first..to.max(first))
            .filter_map(|(&start, payload)| {
                let (low, high) = (start.max(from), end(start, payload).min(to));
                (low < high).then(|| {
                    (
                        low,
                        payload.slice((low - start) as usize, (high - start) as usize),
                    )
                })
            })
            .collect()
    }

    /// The first offset at or after `from` that holds data.
    pub fn next_data(&self, from: u32) -> Option<u32> {
        self.by_offset
            .range(self.start_at_or_before(from)..)
            .find(|&(&start, payload)| end(start, payload) > from)
            .map(|(&start, _)| start.max(from))
    }

    /// The offset after the last byte of data; 0 without data.
    pub fn end(&self) -> u32 {
        let last = self.by_offset.last_key_value();
        last.map_or(0, |(&start, extent)| start + extent.len() as u32)
    }

    /// The bytes of data before `to`.
    pub fn bytes_before(&self, to: u32) -> u64 {
        let before = self.by_offset.range(..to);
        let lengths =
            before.map(|(&start, payload)| u64::from(end(start, payload).min(to) - start));
        lengths.sum()
    }

    /// The first offset at or after `from` that is hole.
    pub fn next_hole(&self, from: u32) -> u32 {
        let mut hole = from;
        for (&start, payload) in self.by_offset.range(self.start_at_or_before(from)..) {
            if start > hole {
                break;
            }
            hole = hole.max(end(start, payload));
        }
        hole
    }

    /// The start of the last extent that begins at or before `offset`; `offset` if there is none.
    fn start_at_or_before(&self, offset: u32) -> u32 {
        let last = self.by_offset.range(..=offset).next_back();
        last.map_or(offset, |(&start, _)| start)
    }

    fn last_before(&self, offset: u32) -> Option<Piece> {
        let (&start, payload) = self.by_offset.range(..offset).next_back()?;
        Some((start, payload.clone()))
    }

    /// Runs `change`, which touches only `from..to`, and updates the footprint.
    fn accounting(&mut self, from: u32, to: u32, change: impl FnOnce(&mut Self)) {
        let before = self.footprint_within(from, to);
        change(self);
        self.footprint_bytes = self.footprint_bytes + self.footprint_within(from, to) - before;
    }

    /// The footprint of the data in `from..to` and of the runs that begin there or at `to`.
    fn footprint_within(&self, from: u32, to: u32) -> usize {
        let mut last_end = None;
        let mut footprint = 0;
        let begin = from.saturating_sub(1);
        for (&start, payload) in self.by_offset.range(self.start_at_or_before(begin)..=to) {
            let stop = end(start, payload);
            footprint += stop.min(to).saturating_sub(start.max(from)) as usize;
            if start >= from && last_end != Some(start) {
                footprint += EXTENT_BYTES;
            }
            last_end = Some(stop);
        }
        footprint
    }

    /// Removes the data in `from..to`.
    fn clear(&mut self, from: u32, to: u32) {
        while let Some((start, payload)) = self.last_before(to) {
            let stop = end(start, &payload);
            if stop <= from {
                break;
            }
            self.by_offset.remove(&start);
            if stop > to {
                let rest = payload.slice((to - start) as usize, payload.len());
                self.by_offset.insert(to, rest.compact());
            }
            if start < from {
                let rest = payload.slice(0, (from - start) as usize);
                self.by_offset.insert(start, rest.compact());
                break;
            }
        }
    }

    /// Joins a new piece with adjacent pieces that are small or not longer than it. As in a binary
    /// counter, each byte is copied a logarithmic number of times.
    fn join(&mut self, piece: Piece) -> Piece {
        let (mut offset, mut payload) = piece;
        loop {
            if let Some((start, before)) = self.last_before(offset)
                && end(start, &before) == offset
                && before.goes_on_with(&payload)
                && joinable(&before, &payload)
            {
                self.by_offset.remove(&start);
                payload = joined(&before, &payload);
                offset = start;
                continue;
            }
            let next = end(offset, &payload);
            match self.by_offset.get(&next) {
                Some(after) if payload.goes_on_with(after) && joinable(after, &payload) => {
                    payload = joined(&payload, after);
                    self.by_offset.remove(&next);
                }
                _ => return (offset, payload),
            }
        }
    }
}

/// The offset after the last byte of a piece.
fn end(start: u32, payload: &Payload) -> u32 {
    start + payload.len() as u32
}

/// Whether joining a piece is worth the copy. Patterns take no memory, so that joining them is
/// free.
fn joinable(neighbour: &Payload, payload: &Payload) -> bool {
    !neighbour.takes_memory()
        || neighbour.len() <= payload.len().max(SMALL_BYTES)
            && neighbour.len() + payload.len() <= JOIN_BYTES
}

fn joined(first: &Payload, second: &Payload) -> Payload {
    let pieces = [(0, first.clone()), (first.len(), second.clone())];
    Payload::gather(first.len() + second.len(), &pieces)
}

/// Two chunks are equal if they read the same and the same parts are patterns. How they are split
/// into extents does not matter.
impl PartialEq for Extents {
    fn eq(&self, other: &Self) -> bool {
        runs(self) == runs(other)
    }
}

impl Eq for Extents {}

/// Serialized as the data that it reads, whatever the split into extents.
impl Serialize for Extents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(runs(self))
    }
}

/// Maximal runs of data of one kind.
fn runs(extents: &Extents) -> Vec<Piece> {
    let mut runs: Vec<(u32, Vec<(usize, Payload)>)> = Vec::new();
    for (&start, payload) in &extents.by_offset {
        match runs.last_mut() {
            Some((first, pieces)) if goes_on(*first, pieces, start, payload) => {
                pieces.push(((start - *first) as usize, payload.clone()));
            }
            _ => runs.push((start, alloc::vec![(0, payload.clone())])),
        }
    }
    let whole = |(start, pieces): (u32, Vec<(usize, Payload)>)| {
        let length = pieces.last().map_or(0, |(at, last)| at + last.len());
        (start, Payload::gather(length, &pieces))
    };
    runs.into_iter().map(whole).collect()
}

/// Whether an extent continues a run that begins at `first`.
fn goes_on(first: u32, pieces: &[(usize, Payload)], start: u32, payload: &Payload) -> bool {
    pieces.last().is_some_and(|(at, last)| {
        first as usize + at + last.len() == start as usize && last.goes_on_with(payload)
    })
}
