//! One file of a log: a head, and entries.

use super::entry::{self, Entry, Link};
use crate::{
    StoreError,
    head::{FileKind, HEAD_BYTES, Head},
};
use bytes::Bytes;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A segment that is read.
pub struct Reading {
    path: PathBuf,
    bytes: Bytes,
    offset: usize,
    pub head: Head,
}

impl Reading {
    /// Reads a segment. `None` if it ends within its head.
    ///
    /// # Errors
    /// `Damaged` if the head is not as it was written, `Version`, and those of reading.
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let bytes = fs::read(path).map_err(StoreError::io("reading", path))?;
        let head = Head::decode(FileKind::Log, &bytes, path)?;
        Ok(head.map(|head| Self {
            path: path.into(),
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
    ///
    /// # Errors
    /// `Damaged` if a whole entry comes after bytes that are none.
    pub fn next(&mut self, last: Link) -> Result<Option<Entry>, StoreError> {
        let seed = self.head.identity.seed();
        let rest = self.bytes.slice(self.offset..);
        match entry::decode(&rest, seed) {
            Some(entry) if follows(&entry, last) => {
                self.offset += entry.bytes;
                Ok(Some(entry))
            }
            None if !entry::is_anywhere(&rest, seed) => Ok(None),
            _ => Err(StoreError::damaged(&self.path, self.offset())),
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
