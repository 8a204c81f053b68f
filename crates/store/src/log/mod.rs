//! A log of batches in a directory.
//!
//! The log is a sequence of entries in files, the segments. Each entry has a checksum of its own
//! and the one of the entry before, and says which entries were durable before it. So what a disk
//! or a process has not finished writing is distinguished from bytes that have changed since. If a
//! loss of power is possible, all that was not durable may be missing in any part, and is cut off.
//! Otherwise only the last write may be torn. The log is not opened if anything else is missing.
//! The entries that were written last have none behind them, so damage of them looks torn.
//!
//! Batches set absolute values, so the log of a server can be shortened without a separate
//! checkpoint: what is still valid is appended again, and then the oldest segments go
//! ([`Log::take_before`]).

mod entry;
mod opening;
mod segment;

pub use entry::Entry;
pub use opening::Replayed;

use crate::{
    StoreError,
    files::Files,
    head::{FileKind, HEAD_BYTES, Head, Identity},
};
use bytes::Bytes;
use entry::Link;
use futago_base::{Batch, Moment};
use std::collections::VecDeque;

/// The log of one server.
#[derive(Debug)]
pub struct Log {
    identity: Identity,
    /// A segment ends with the entry that makes it as large as this, in bytes.
    segment_bytes: u64,
    segments: VecDeque<Segment>,
    last: Link,
    /// The latest entry that the system has.
    written: Link,
    /// The position of the latest entry that survives a loss of power.
    durable: u64,
    /// Entries that were appended and not written.
    pending: Vec<Bytes>,
    pending_bytes: u64,
}

/// A file of the log.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The position of its first entry.
    first: u64,
    bytes: u64,
}

impl Log {
    /// The owner of the log in a directory; `None` if there is no log.
    ///
    /// # Errors
    /// Those of reading its first head.
    pub fn owner(files: &Files) -> Result<Option<Identity>, StoreError> {
        let segments = files.list(FileKind::Log)?;
        let Some(&first) = segments.first() else {
            return Ok(None);
        };
        let head = files.head(FileKind::Log, first)?;
        Ok(head.map(|head| head.identity))
    }

    /// The position of the latest entry; 0 before the first one.
    pub const fn position(&self) -> u64 {
        self.last.position
    }

    /// The size of the log, in bytes, with what is not written.
    pub fn bytes(&self) -> u64 {
        let written = self.segments.iter().map(|segment| segment.bytes);
        written.sum::<u64>() + self.pending_bytes
    }

    /// Appends a batch. [`Log::write`] writes it.
    pub fn append(&mut self, batch: &Batch, decided: Moment) {
        let seed = self.identity.seed();
        let (pieces, link) = entry::encode(batch, decided, self.last, self.durable, seed);
        self.last = link;
        self.pending_bytes += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.pending.extend(pieces);
    }

    /// Hands what was appended to the system: it survives the end of the process.
    ///
    /// # Errors
    /// If the system refuses to write. The log is unusable then.
    pub fn write(&mut self, files: &mut Files) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let is_full = |segment: &Segment| segment.bytes >= self.segment_bytes;
        if self.segments.back().is_none_or(is_full) {
            self.begin_segment(files)?;
        }
        if let Some(segment) = self.segments.back_mut() {
            files.append(FileKind::Log, segment.first, &self.pending)?;
            segment.bytes += self.pending_bytes;
        }
        self.written = self.last;
        self.pending.clear();
        self.pending_bytes = 0;
        Ok(())
    }

    /// The position of the latest entry that survives a loss of power.
    pub const fn durable(&self) -> u64 {
        self.durable
    }

    /// Notes that all entries up to a position survive a loss of power.
    pub fn note_durable(&mut self, position: u64) {
        self.durable = self.durable.max(position);
    }

    /// Gives up the oldest segments that hold only entries before `position`. Returns their
    /// numbers, the oldest first.
    pub fn take_before(&mut self, position: u64) -> Vec<u64> {
        let mut taken = Vec::new();
        while let Some(next) = self.segments.get(1)
            && next.first <= position
        {
            taken.extend(self.segments.pop_front().map(|segment| segment.first));
        }
        taken
    }

    /// Makes the segment for the entries that are not written.
    fn begin_segment(&mut self, files: &mut Files) -> Result<(), StoreError> {
        let head = Head {
            identity: self.identity,
            number: self.written.position + 1,
            previous: self.written.crc32c,
        };
        files.create(FileKind::Log, &head)?;
        self.segments.push_back(Segment {
            first: head.number,
            bytes: HEAD_BYTES as u64,
        });
        Ok(())
    }
}
