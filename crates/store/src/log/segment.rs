//! One file of a log: a head, and entries.

use super::entry::{self, Entry, Link};
use crate::{
    StoreError,
    files::Files,
    head::{FileKind, HEAD_BYTES, Head},
};
use bytes::Bytes;
use std::path::{Path, PathBuf};

/// A segment that is read.
pub struct Reading {
    path: PathBuf,
    bytes: Bytes,
    offset: usize,
    pub head: Head,
}

impl Reading {
    /// Reads a segment. `None` if its head was never written whole.
    ///
    /// # Errors
    /// `Damaged` if the head is not as it was written, `Version`, and those of reading.
    pub fn open(files: &Files, number: u64) -> Result<Option<Self>, StoreError> {
        let path = files.path(FileKind::Log, number);
        let bytes = files.read(FileKind::Log, number)?;
        let head = Head::decode(FileKind::Log, &bytes, &path)?;
        Ok(head.map(|head| Self {
            path,
            bytes: bytes.into(),
            offset: HEAD_BYTES,
            head,
        }))
    }

    /// The entry before the first one of the segment.
    pub const fn before(&self) -> Link {
        Link {
            position: self.head.number.saturating_sub(1),
            crc32c: self.head.previous,
        }
    }

    /// The next entry, which follows `last`; `None` where the segment ends or is torn.
    pub fn next(&mut self, last: Link) -> Option<Entry> {
        let rest = self.bytes.slice(self.offset..);
        let entry = entry::decode(&rest, self.head.identity.seed());
        let entry = entry.filter(|entry| follows(entry, last))?;
        self.offset += entry.bytes;
        Some(entry)
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
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
