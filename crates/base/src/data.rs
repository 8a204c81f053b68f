//! The data of one chunk: extents with holes between them.

use crate::Payload;
use alloc::{collections::BTreeMap, vec::Vec};
use bytes::{Bytes, BytesMut};

/// A piece of data at an offset of a chunk, in bytes.
pub type Piece = (u32, Payload);

/// Neighbouring pieces are joined up to this size, so that a chunk written byte by byte does not
/// become a million extents; larger ones are left alone, because joining copies.
const JOIN_BYTES: usize = 64 << 10;

#[derive(Clone, Debug)]
struct Extent {
    payload: Payload,
    /// The size of the buffer that the payload is a slice of; at most twice the payload's length,
    /// so that what is accounted and what is useful stay within a factor of two.
    backing_bytes: usize,
}

impl Extent {
    fn whole(payload: Payload) -> Self {
        Self {
            backing_bytes: payload.len(),
            payload,
        }
    }

    /// The part `from..to` of this extent, in a buffer of its own if it would waste most of it.
    fn part(&self, from: usize, to: usize) -> Self {
        let payload = self.payload.slice(from, to);
        if payload.len() * 2 > self.backing_bytes {
            return Self {
                payload,
                backing_bytes: self.backing_bytes,
            };
        }
        Self::whole(Payload::from(Bytes::copy_from_slice(payload.bytes())))
    }
}

/// The extents of one chunk, by offset. They do not overlap; what lies between them reads as zeros.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    by_offset: BTreeMap<u32, Extent>,
    footprint_bytes: usize,
}

impl Extents {
    /// The memory that the extents hold, in bytes.
    pub const fn footprint_bytes(&self) -> usize {
        self.footprint_bytes
    }

    /// Whether there is nothing but hole.
    pub fn is_empty(&self) -> bool {
        self.by_offset.is_empty()
    }

    /// Replaces what lies at `offset` by `payload`.
    pub fn write(&mut self, offset: u32, payload: Payload) {
        if payload.is_empty() {
            return;
        }
        self.punch(offset, offset + payload.len() as u32);
        let (offset, payload) = self.join_before(offset, payload);
        let payload = self.join_after(offset, payload);
        self.insert(offset, Extent::whole(payload));
    }

    /// Makes `from..to` a hole.
    pub fn punch(&mut self, from: u32, to: u32) {
        while let Some((start, extent)) = self.last_before(to) {
            let end = start + extent.payload.len() as u32;
            if end <= from {
                break;
            }
            self.remove(start);
            if end > to {
                self.insert(to, extent.part((to - start) as usize, extent.payload.len()));
            }
            if start < from {
                self.insert(start, extent.part(0, (from - start) as usize));
                break;
            }
        }
    }

    /// The data within `from..to`, in order; what is not named is hole.
    pub fn read(&self, from: u32, to: u32) -> Vec<Piece> {
        let first = self.last_before(from + 1).map_or(from, |(start, _)| start);
        self.by_offset
            .range(first..to.max(first))
            .filter_map(|(&start, extent)| {
                let end = start + extent.payload.len() as u32;
                let (low, high) = (start.max(from), end.min(to));
                (low < high).then(|| {
                    (
                        low,
                        extent
                            .payload
                            .slice((low - start) as usize, (high - start) as usize),
                    )
                })
            })
            .collect()
    }

    /// The first offset at or after `from` that holds data.
    pub fn next_data(&self, from: u32) -> Option<u32> {
        if let Some((start, extent)) = self.last_before(from + 1)
            && start + extent.payload.len() as u32 > from
        {
            return Some(from);
        }
        self.by_offset.range(from..).next().map(|(&start, _)| start)
    }

    /// The first offset at or after `from` that is hole.
    pub fn next_hole(&self, from: u32) -> u32 {
        let mut hole = from;
        let first = self.last_before(from + 1).map_or(from, |(start, _)| start);
        for (&start, extent) in self.by_offset.range(first..) {
            if start > hole {
                break;
            }
            hole = hole.max(start + extent.payload.len() as u32);
        }
        hole
    }

    fn last_before(&self, offset: u32) -> Option<(u32, Extent)> {
        self.by_offset
            .range(..offset)
            .next_back()
            .map(|(&start, e)| (start, e.clone()))
    }

    fn insert(&mut self, offset: u32, extent: Extent) {
        self.footprint_bytes += extent.backing_bytes;
        self.by_offset.insert(offset, extent);
    }

    fn remove(&mut self, offset: u32) -> Option<Extent> {
        let extent = self.by_offset.remove(&offset)?;
        self.footprint_bytes -= extent.backing_bytes;
        Some(extent)
    }

    /// Joins `payload` with the pieces right before it that are not longer: like a binary counter,
    /// so that each byte is copied a logarithmic number of times.
    fn join_before(&mut self, offset: u32, payload: Payload) -> Piece {
        let (mut offset, mut payload) = (offset, payload);
        while let Some((start, before)) = self.last_before(offset) {
            let touches = start + before.payload.len() as u32 == offset;
            if !touches || !joinable(&before.payload, &payload) {
                break;
            }
            self.remove(start);
            payload = joined(&before.payload, &payload);
            offset = start;
        }
        (offset, payload)
    }

    fn join_after(&mut self, offset: u32, payload: Payload) -> Payload {
        let end = offset + payload.len() as u32;
        match self.by_offset.get(&end) {
            Some(after) if joinable(&after.payload, &payload) => {
                let whole = joined(&payload, &after.payload);
                self.remove(end);
                whole
            }
            _ => payload,
        }
    }
}

fn joinable(neighbour: &Payload, payload: &Payload) -> bool {
    neighbour.len() <= payload.len() && neighbour.len() + payload.len() <= JOIN_BYTES
}

fn joined(first: &Payload, second: &Payload) -> Payload {
    let mut whole = BytesMut::with_capacity(first.len() + second.len());
    whole.extend_from_slice(first.bytes());
    whole.extend_from_slice(second.bytes());
    Payload::from(whole.freeze())
}

/// Two chunks are equal if they read the same, however they are cut into extents.
impl PartialEq for Extents {
    fn eq(&self, other: &Self) -> bool {
        runs(self) == runs(other)
    }
}

impl Eq for Extents {}

/// Maximal runs of data.
fn runs(extents: &Extents) -> Vec<(u32, Vec<u8>)> {
    let mut runs: Vec<(u32, Vec<u8>)> = Vec::new();
    for (&start, extent) in &extents.by_offset {
        match runs.last_mut() {
            Some((first, data)) if *first as usize + data.len() == start as usize => {
                data.extend_from_slice(extent.payload.bytes());
            }
            _ => runs.push((start, extent.payload.bytes().to_vec())),
        }
    }
    runs
}
