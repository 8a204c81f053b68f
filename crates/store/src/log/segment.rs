//! One file of a log: its owner, and entries.
//!
//! ```text
//!   0 magic "FTGOLOG\n"   8 version      12 server      14 reserved
//!  16 cluster            24 incarnation  32 position of the first entry
//!  40 crc32c of the entry before         44 crc32c of this head    48 entries
//! ```

use super::{
    LogError,
    entry::{self, Entry, Link},
};
use bytes::Bytes;
use futago_base::{Incarnation, ServerId};
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

const MAGIC: [u8; 8] = *b"FTGOLOG\n";
/// The version of the format of all files of a log.
pub const VERSION: u32 = 1;
/// The end of the names of segments.
const SUFFIX: &str = ".log";

/// The owner of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The cluster.
    pub cluster: u64,
    /// The server.
    pub server: ServerId,
    /// The life of the server that began with an empty store.
    pub incarnation: Incarnation,
}

impl Identity {
    /// Its checksum, with which those of entries begin.
    pub(super) fn seed(&self) -> u32 {
        let server = self.server.0.to_le_bytes();
        let life = self.incarnation.0.to_le_bytes();
        let sum = crc32c::crc32c(&self.cluster.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c_append(sum, &server), &life)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cluster, server, life) = (self.cluster, self.server, self.incarnation.0);
        write!(
            f,
            "{server} of cluster {cluster:016x}, begun as {life:016x}"
        )
    }
}

/// The encoded head.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    magic: [u8; 8],
    version: U32,
    server: U16,
    reserved: U16,
    cluster: U64,
    incarnation: U64,
    first: U64,
    previous: U32,
    crc32c: U32,
}

/// The size of a segment's head, in bytes.
pub const HEAD_BYTES: usize = size_of::<Head>();
/// The checksum is the last field.
const COVERED_BYTES: usize = HEAD_BYTES - size_of::<u32>();

/// The head of a segment that follows the entry `previous`.
pub fn head(identity: &Identity, previous: Link) -> Vec<u8> {
    let mut head = Head {
        magic: MAGIC,
        version: U32::new(VERSION),
        server: U16::new(identity.server.0),
        reserved: U16::new(0),
        cluster: U64::new(identity.cluster),
        incarnation: U64::new(identity.incarnation.0),
        first: U64::new(previous.position + 1),
        previous: U32::new(previous.crc32c),
        crc32c: U32::new(0),
    };
    head.crc32c = U32::new(crc32c::crc32c(&head.as_bytes()[..COVERED_BYTES]));
    head.as_bytes().to_vec()
}

/// The path of the segment whose first entry has a position.
pub fn path(directory: &Path, first: u64) -> PathBuf {
    directory.join(format!("{first:020}{SUFFIX}"))
}

/// Makes a segment.
pub fn create(path: &Path) -> Result<File, LogError> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    made.map_err(LogError::io("making", path))
}

/// The segments of a directory, the oldest first.
pub fn list(directory: &Path) -> Result<Vec<PathBuf>, LogError> {
    let error = LogError::io("reading", directory);
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let paths = entries
        .map_err(error)?
        .into_iter()
        .map(|entry| entry.path());
    let mut segments: Vec<PathBuf> = paths.filter(|path| is_segment(path)).collect();
    segments.sort();
    Ok(segments)
}

fn is_segment(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| SUFFIX.ends_with(&*end.to_string_lossy()))
}

/// A segment that is read.
pub struct Reading {
    path: PathBuf,
    bytes: Bytes,
    offset: usize,
    pub identity: Identity,
    /// The entry before the first one of the segment.
    pub before: Link,
}

impl Reading {
    /// Reads a segment. `None` if it ends within its head.
    ///
    /// # Errors
    /// `Damaged` if the head is not as it was written, `Version`, and those of reading.
    pub fn open(path: &Path) -> Result<Option<Self>, LogError> {
        let bytes: Bytes = fs::read(path)
            .map_err(LogError::io("reading", path))?
            .into();
        let Ok((head, _)) = Head::read_from_prefix(&bytes) else {
            return Ok(None);
        };
        if head.magic == MAGIC && head.version.get() != VERSION {
            return Err(LogError::Version {
                path: path.into(),
                found: head.version.get(),
                known: VERSION,
            });
        }
        if head.magic != MAGIC || crc32c::crc32c(&bytes[..COVERED_BYTES]) != head.crc32c.get() {
            return Err(damaged(path, 0));
        }
        Ok(Some(Self {
            path: path.into(),
            bytes,
            offset: HEAD_BYTES,
            identity: Identity {
                cluster: head.cluster.get(),
                server: ServerId(head.server.get()),
                incarnation: Incarnation(head.incarnation.get()),
            },
            before: Link {
                position: head.first.get().saturating_sub(1),
                crc32c: head.previous.get(),
            },
        }))
    }

    /// The next entry, which follows `last`; `None` where the segment ends or is torn.
    ///
    /// # Errors
    /// `Damaged` if a whole entry comes after bytes that are none.
    pub fn next(&mut self, last: Link) -> Result<Option<Entry>, LogError> {
        let seed = self.identity.seed();
        let rest = self.bytes.slice(self.offset..);
        match entry::decode(&rest, seed) {
            Some(entry) if follows(&entry, last) => {
                self.offset += entry.bytes;
                Ok(Some(entry))
            }
            None if !entry::is_anywhere(&rest, seed) => Ok(None),
            _ => Err(damaged(&self.path, self.offset as u64)),
        }
    }

    /// How far it was read, in bytes.
    pub const fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// Whether bytes are left that are no entry.
    pub fn is_torn(&self) -> bool {
        self.offset < self.bytes.len()
    }
}

const fn follows(entry: &Entry, last: Link) -> bool {
    entry.link.position == last.position + 1 && entry.previous == last.crc32c
}

pub fn damaged(path: &Path, offset: u64) -> LogError {
    LogError::Damaged {
        path: path.into(),
        offset,
    }
}
