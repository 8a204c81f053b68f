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
mod error;
mod segment;

pub use entry::Entry;
pub use error::LogError;
pub use segment::Identity;

use bytes::Bytes;
use entry::Link;
use futago_base::{Batch, Moment};
use segment::Reading;
use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, IoSlice, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// The sizes of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// A segment ends with the entry that makes it as large as this, in bytes. Default: 64 MiB.
    pub segment_bytes: u64,
    /// A log that is larger than twice the state and this is shortened, in bytes. Default: 64 MiB.
    pub slack_bytes: u64,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            slack_bytes: 64 << 20,
        }
    }
}

/// The log of one server.
#[derive(Debug)]
pub struct Log {
    directory: PathBuf,
    identity: Identity,
    config: LogConfig,
    /// The last segment, open for appending.
    file: File,
    segments: VecDeque<Segment>,
    last: Link,
    /// Entries that were appended and not written.
    pending: Vec<Bytes>,
    pending_bytes: u64,
    /// Locked as long as the log is in use.
    _lock: File,
}

/// A file of the log.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// The position of its first entry.
    first: u64,
    bytes: u64,
}

impl Log {
    /// Opens the log of a server, and hands over each entry, the oldest first. If there is none,
    /// begins one with this identity; otherwise the identity of the log has its incarnation.
    ///
    /// # Errors
    /// Those of [`LogError`]. Only the torn end of a log is changed, which is cut off.
    pub fn open(
        directory: &Path,
        identity: Identity,
        config: LogConfig,
        mut replay: impl FnMut(Entry),
    ) -> Result<Self, LogError> {
        fs::create_dir_all(directory).map_err(LogError::io("making", directory))?;
        let lock = lock(directory)?;
        let mut recovery = Recovery::new(identity);
        let paths = segment::list(directory)?;
        for (number, path) in paths.iter().enumerate() {
            recovery.read(path, number + 1 == paths.len(), &mut replay)?;
        }
        let Recovery {
            identity,
            segments,
            last,
            file,
        } = recovery;
        let mut log = Self {
            file: match file {
                Some(file) => file,
                None => begin_segment(directory, &identity, last)?,
            },
            directory: directory.into(),
            identity,
            config,
            segments,
            last,
            pending: Vec::new(),
            pending_bytes: 0,
            _lock: lock,
        };
        if log.segments.is_empty() {
            log.note_segment();
        }
        Ok(log)
    }

    /// The owner of the log.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its sizes.
    pub const fn config(&self) -> &LogConfig {
        &self.config
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
    pub fn write(&mut self) -> Result<(), LogError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = write_all(&mut self.file, &self.pending);
        written.map_err(LogError::io("writing to the log in", &self.directory))?;
        self.pending.clear();
        let bytes = std::mem::take(&mut self.pending_bytes);
        let segment_bytes = self.config.segment_bytes;
        let full = self.segments.back_mut().is_some_and(|segment| {
            segment.bytes += bytes;
            segment.bytes >= segment_bytes
        });
        if full {
            self.file = begin_segment(&self.directory, &self.identity, self.last)?;
            self.note_segment();
        }
        Ok(())
    }

    /// Removes the oldest segments that hold only entries before `position`.
    ///
    /// # Errors
    /// If the system refuses to remove a file.
    pub fn forget_before(&mut self, position: u64) -> Result<(), LogError> {
        while let Some(next) = self.segments.get(1)
            && next.first <= position
        {
            let path = segment::path(&self.directory, self.segments[0].first);
            fs::remove_file(&path).map_err(LogError::io("removing", path))?;
            self.segments.pop_front();
        }
        Ok(())
    }

    fn note_segment(&mut self) {
        self.segments.push_back(Segment {
            first: self.last.position + 1,
            bytes: segment::HEAD_BYTES as u64,
        });
    }
}

/// Locks a directory for this process.
fn lock(directory: &Path) -> Result<File, LogError> {
    let path = directory.join("lock");
    let mut options = OpenOptions::new();
    let opened = options.create(true).truncate(false).write(true).open(&path);
    let file = opened.map_err(LogError::io("opening", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::InUse(directory.into())),
        Err(TryLockError::Error(error)) => Err(LogError::io("locking", path)(error)),
    }
}

/// Makes the segment after an entry.
fn begin_segment(directory: &Path, identity: &Identity, last: Link) -> Result<File, LogError> {
    let path = segment::path(directory, last.position + 1);
    let mut file = segment::create(&path)?;
    let written = file.write_all(&segment::head(identity, last));
    written.map_err(LogError::io("writing", path))?;
    Ok(file)
}

/// Writes all pieces, as many as the system takes at a time.
fn write_all(file: &mut File, pieces: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = &mut slices[..];
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match file.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut rest, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
        replay: &mut impl FnMut(Entry),
    ) -> Result<(), LogError> {
        let Some(mut reading) = Reading::open(path)? else {
            return self.drop_begun(path, is_last);
        };
        self.meet(&reading, path)?;
        while let Some(entry) = reading.next(self.last)? {
            self.last = entry.link;
            replay(entry);
        }
        if reading.is_torn() && !is_last {
            return Err(segment::damaged(path, reading.offset()));
        }
        self.segments.push_back(Segment {
            first: reading.before.position + 1,
            bytes: reading.offset(),
        });
        if is_last {
            self.file = Some(reopen(path, reading.offset())?);
        }
        Ok(())
    }

    /// A segment that ends within its head has no entries: its server ended when it had just made
    /// it.
    fn drop_begun(&self, path: &Path, is_last: bool) -> Result<(), LogError> {
        if !is_last {
            return Err(segment::damaged(path, 0));
        }
        fs::remove_file(path).map_err(LogError::io("removing", path))
    }

    /// Checks that a segment is the next one of this log.
    fn meet(&mut self, reading: &Reading, path: &Path) -> Result<(), LogError> {
        let (found, wanted) = (reading.identity, self.identity);
        let is_first = self.segments.is_empty();
        let same_life = is_first || found.incarnation == wanted.incarnation;
        if (found.cluster, found.server) != (wanted.cluster, wanted.server) || !same_life {
            return Err(LogError::Foreign {
                path: path.into(),
                found: found.to_string(),
                wanted: wanted.to_string(),
            });
        }
        if is_first {
            (self.identity, self.last) = (found, reading.before);
        }
        if reading.before == self.last {
            return Ok(());
        }
        let (path, after) = (path.into(), self.last.position + 1);
        Err(LogError::Missing { path, after })
    }
}

/// Opens a segment for appending at `end`, and cuts off what is behind it.
fn reopen(path: &Path, end: u64) -> Result<File, LogError> {
    let open = || {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(file)
    };
    open().map_err(LogError::io("opening", path))
}
