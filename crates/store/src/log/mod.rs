//! A log of batches in a directory.
//!
//! The log is a sequence of entries in files, the segments. Each entry has a checksum of its own
//! and the one of the entry before, and says which entries were durable before it. So bytes that
//! were never written whole (the torn end of the last segment) are distinguished from bytes that
//! have changed since: these were durable, as entries behind them show, and the log is not opened.
//! The entries that were written last have none behind them, so damage of them looks torn.
//!
//! Batches set absolute values, so the log of a server can be shortened without a separate
//! checkpoint: what is still valid is appended again, and then the oldest segments go
//! ([`Log::forget_before`]).

mod entry;
mod segment;

pub use entry::Entry;

use crate::{
    StoreError,
    files::Files,
    head::{FileKind, HEAD_BYTES, Head, Identity},
};
use bytes::Bytes;
use entry::Link;
use futago_base::{Batch, Moment};
use segment::Reading;
use std::collections::VecDeque;

/// The log of one server.
#[derive(Debug)]
pub struct Log {
    identity: Identity,
    /// A segment ends with the entry that makes it as large as this, in bytes.
    segment_bytes: u64,
    segments: VecDeque<Segment>,
    last: Link,
    /// The latest entry that is as durable as the store promises.
    durable: Link,
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

    /// Opens the log of a server, and hands over each entry, the oldest first. `replay` returns
    /// `None` for one that it does not understand. If there is no log, begins one.
    ///
    /// # Errors
    /// Those of [`StoreError`]. Only the torn end of a log is changed, which is cut off.
    pub fn open(
        files: &mut Files,
        identity: Identity,
        segment_bytes: u64,
        mut replay: impl FnMut(Entry) -> Option<()>,
    ) -> Result<Self, StoreError> {
        let mut log = Self {
            identity,
            segment_bytes,
            segments: VecDeque::new(),
            last: Link::default(),
            durable: Link::default(),
            pending: Vec::new(),
            pending_bytes: 0,
        };
        let numbers = files.list(FileKind::Log)?;
        for &number in &numbers {
            log.recover(files, number, numbers.last() == Some(&number), &mut replay)?;
        }
        // The server acts upon all that is there from now on.
        files.sync_all()?;
        if log.segments.is_empty() {
            log.begin_segment(files)?;
            files.sync()?;
        }
        log.durable = log.last;
        Ok(log)
    }

    /// Reads a segment.
    fn recover(
        &mut self,
        files: &mut Files,
        number: u64,
        is_last: bool,
        replay: &mut impl FnMut(Entry) -> Option<()>,
    ) -> Result<(), StoreError> {
        let path = files.path(FileKind::Log, number);
        let Some(mut reading) = Reading::open(files, number)? else {
            // Its server ended when it had just made it.
            return match is_last {
                true => files.remove(FileKind::Log, number),
                false => Err(StoreError::damaged(&path, 0)),
            };
        };
        self.meet(&reading)?;
        loop {
            let begin = reading.offset();
            let Some(entry) = reading.next(self.last)? else {
                break;
            };
            self.last = entry.link;
            replay(entry).ok_or_else(|| StoreError::damaged(&path, begin))?;
        }
        let (first, bytes) = (number, reading.offset());
        self.segments.push_back(Segment { first, bytes });
        match (reading.is_torn(), is_last) {
            (false, _) => Ok(()),
            (true, true) => files.truncate(FileKind::Log, number, bytes),
            (true, false) => Err(StoreError::damaged(&path, bytes)),
        }
    }

    /// Checks that a segment is the next one of this log.
    fn meet(&mut self, reading: &Reading) -> Result<(), StoreError> {
        let path = reading.path();
        if reading.head.identity != self.identity {
            let found = &reading.head.identity;
            return Err(StoreError::foreign(path, found, &self.identity));
        }
        if self.segments.is_empty() {
            self.last = reading.before();
        }
        if reading.before() == self.last {
            return Ok(());
        }
        let (path, after) = (path.into(), self.last.position + 1);
        Err(StoreError::Missing { path, after })
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
        let (pieces, link) = entry::encode(batch, decided, self.last, self.durable.position, seed);
        self.last = link;
        self.pending_bytes += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.pending.extend(pieces);
    }

    /// Makes what was appended as durable as the store promises.
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
        files.sync()?;
        self.durable = self.last;
        self.pending.clear();
        self.pending_bytes = 0;
        Ok(())
    }

    /// Removes the oldest segments that hold only entries before `position`.
    ///
    /// # Errors
    /// If the system refuses to remove a file.
    pub fn forget_before(&mut self, position: u64, files: &mut Files) -> Result<(), StoreError> {
        while let Some(next) = self.segments.get(1)
            && next.first <= position
        {
            files.remove(FileKind::Log, self.segments[0].first)?;
            self.segments.pop_front();
        }
        Ok(())
    }

    /// Makes the segment for the entries that are not durable.
    fn begin_segment(&mut self, files: &mut Files) -> Result<(), StoreError> {
        let head = Head {
            identity: self.identity,
            number: self.durable.position + 1,
            previous: self.durable.crc32c,
        };
        files.create(FileKind::Log, &head)?;
        self.segments.push_back(Segment {
            first: head.number,
            bytes: HEAD_BYTES as u64,
        });
        Ok(())
    }
}
