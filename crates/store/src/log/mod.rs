//! A log of batches in a directory.
//!
//! The log is a sequence of entries in files, the segments. Each entry has a checksum of its own
//! and the one of the entry before. So bytes that were never written whole (the torn end of the
//! last segment) are distinguished from bytes that have changed since: these have whole entries
//! behind them, and the log is not opened. The last entry has none behind it, so damage of it alone
//! looks torn.
//!
//! Batches set absolute values, so the log of a server can be shortened without a separate
//! checkpoint: what is still valid is appended again, and then the oldest segments go
//! ([`Log::forget_before`]).

mod entry;
mod segment;

pub use entry::Entry;

use crate::{
    StoreError, files,
    head::{FileKind, HEAD_BYTES, Head, Identity},
    reserve::Reserve,
};
use bytes::Bytes;
use entry::Link;
use futago_base::{Batch, Moment};
use segment::Reading;
use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// The log of one server.
#[derive(Debug)]
pub struct Log {
    directory: PathBuf,
    identity: Identity,
    /// A segment ends with the entry that makes it as large as this, in bytes.
    segment_bytes: u64,
    /// The last segment, open for appending.
    file: File,
    segments: VecDeque<Segment>,
    last: Link,
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
    pub fn owner(directory: &Path) -> Result<Option<Identity>, StoreError> {
        let segments = files::list(directory, FileKind::Log)?;
        let Some(first) = segments.first() else {
            return Ok(None);
        };
        let head = files::head(first, FileKind::Log)?;
        Ok(head.map(|head| head.identity))
    }

    /// Opens the log of a server, and hands over each entry, the oldest first. `replay` returns
    /// `None` for one that it does not understand. If there is no log, begins one.
    ///
    /// # Errors
    /// Those of [`StoreError`]. Only the torn end of a log is changed, which is cut off.
    pub fn open(
        directory: &Path,
        identity: Identity,
        segment_bytes: u64,
        reserve: &mut Reserve,
        mut replay: impl FnMut(Entry) -> Option<()>,
    ) -> Result<Self, StoreError> {
        let mut recovery = Recovery::new(identity);
        let paths = files::list(directory, FileKind::Log)?;
        for (number, path) in paths.iter().enumerate() {
            recovery.read(path, number + 1 == paths.len(), &mut replay)?;
        }
        let Recovery {
            segments,
            last,
            file,
            ..
        } = recovery;
        let mut log = Self {
            file: match file {
                Some(file) => file,
                None => begin_segment(directory, &identity, last, reserve)?,
            },
            directory: directory.into(),
            identity,
            segment_bytes,
            segments,
            last,
            pending: Vec::new(),
            pending_bytes: 0,
        };
        if log.segments.is_empty() {
            log.note_segment();
        }
        Ok(log)
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
        let (pieces, link) = entry::encode(batch, decided, self.last, self.identity.seed());
        self.last = link;
        self.pending_bytes += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.pending.extend(pieces);
    }

    /// Hands what was appended to the system: it survives the end of the process.
    ///
    /// # Errors
    /// If the system refuses to write. The log is unusable then.
    pub fn write(&mut self, reserve: &mut Reserve) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = files::write_all(&mut self.file, &self.pending, reserve);
        written.map_err(StoreError::io("writing to the log in", &self.directory))?;
        self.pending.clear();
        let bytes = std::mem::take(&mut self.pending_bytes);
        let segment_bytes = self.segment_bytes;
        let full = self.segments.back_mut().is_some_and(|segment| {
            segment.bytes += bytes;
            segment.bytes >= segment_bytes
        });
        if full {
            self.file = begin_segment(&self.directory, &self.identity, self.last, reserve)?;
            self.note_segment();
        }
        Ok(())
    }

    /// Removes the oldest segments that hold only entries before `position`.
    ///
    /// # Errors
    /// If the system refuses to remove a file.
    pub fn forget_before(&mut self, position: u64) -> Result<(), StoreError> {
        while let Some(next) = self.segments.get(1)
            && next.first <= position
        {
            let path = files::path(&self.directory, FileKind::Log, self.segments[0].first);
            fs::remove_file(&path).map_err(StoreError::io("removing", path))?;
            self.segments.pop_front();
        }
        Ok(())
    }

    fn note_segment(&mut self) {
        self.segments.push_back(Segment {
            first: self.last.position + 1,
            bytes: HEAD_BYTES as u64,
        });
    }
}

/// Makes the segment after an entry.
fn begin_segment(
    directory: &Path,
    identity: &Identity,
    last: Link,
    reserve: &mut Reserve,
) -> Result<File, StoreError> {
    let head = Head {
        identity: *identity,
        number: last.position + 1,
        previous: last.crc32c,
    };
    files::create(directory, FileKind::Log, &head, reserve)
}

/// The reading of a log.
struct Recovery {
    identity: Identity,
    segments: VecDeque<Segment>,
    last: Link,
    /// The last segment, for appending.
    file: Option<File>,
}

impl Recovery {
    const fn new(identity: Identity) -> Self {
        Self {
            identity,
            segments: VecDeque::new(),
            last: Link {
                position: 0,
                crc32c: 0,
            },
            file: None,
        }
    }

    /// Reads a segment.
    fn read(
        &mut self,
        path: &Path,
        is_last: bool,
        replay: &mut impl FnMut(Entry) -> Option<()>,
    ) -> Result<(), StoreError> {
        let Some(mut reading) = Reading::open(path)? else {
            return self.drop_begun(path, is_last);
        };
        self.meet(&reading, path)?;
        loop {
            let begin = reading.offset();
            let Some(entry) = reading.next(self.last)? else {
                break;
            };
            self.last = entry.link;
            replay(entry).ok_or_else(|| StoreError::damaged(path, begin))?;
        }
        if reading.is_torn() && !is_last {
            return Err(StoreError::damaged(path, reading.offset()));
        }
        self.segments.push_back(Segment {
            first: reading.head.number,
            bytes: reading.offset(),
        });
        if is_last {
            self.file = Some(reopen(path, reading.offset())?);
        }
        Ok(())
    }

    /// A segment that ends within its head has no entries: its server ended when it had just made
    /// it.
    fn drop_begun(&self, path: &Path, is_last: bool) -> Result<(), StoreError> {
        if !is_last {
            return Err(StoreError::damaged(path, 0));
        }
        fs::remove_file(path).map_err(StoreError::io("removing", path))
    }

    /// Checks that a segment is the next one of this log.
    fn meet(&mut self, reading: &Reading, path: &Path) -> Result<(), StoreError> {
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
}

/// Opens a segment for appending at `end`, and cuts off what is behind it.
fn reopen(path: &Path, end: u64) -> Result<File, StoreError> {
    let open = || {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(file)
    };
    open().map_err(StoreError::io("opening", path))
}
