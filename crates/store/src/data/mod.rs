//! The data of chunks in files: written once, and named by entries of the log.
//!
//! Data is written before the entry that names it. Data that is overwritten or removed stays in its
//! file until no piece of the file is used any more; a file with few used pieces gives them to
//! another one (the segments of a log-structured file system: Rosenblum and Ousterhout, SOSP 1991).

mod cache;
mod piece;
mod reading;

pub use piece::{Piece, PieceName};

use crate::{
    StoreError,
    directory::Directory,
    files::{self, Files},
    head::{FileKind, HEAD_BYTES, Head, Identity},
};
use bytes::Bytes;
use cache::Cache;
use futago_base::{ChunkId, DataChange, Payload, data::Extents, payload::Stored};
use piece::DataFile;
use reading::Reading;
use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The files of data of one server.
#[derive(Debug)]
pub struct DataFiles {
    directory: Arc<dyn Directory>,
    identity: Identity,
    /// A file ends with the piece that makes it as large as this, in bytes.
    file_bytes: u64,
    files: BTreeMap<u64, Usage>,
    /// The number of the next file. No number is used twice, because old entries may name it.
    next: u64,
    /// The file that takes new pieces.
    last: Option<u64>,
    /// The number of the latest file that this process has made.
    created: u64,
    /// The data that was appended to each file and not written.
    pending: Vec<(u64, Vec<Bytes>)>,
    cache: Arc<Cache>,
    reading: Arc<Reading>,
    used_bytes: u64,
    total_bytes: u64,
}

/// How a file is used.
#[derive(Debug)]
struct Usage {
    file: Arc<DataFile>,
    /// Its size.
    bytes: u64,
    /// The bytes of it that chunks have.
    used_bytes: u64,
}

impl DataFiles {
    /// The files in a directory, of the owner of the log.
    ///
    /// # Errors
    /// If they cannot be read, or belong to another server.
    pub fn open(files: &Files, identity: Identity, file_bytes: u64) -> Result<Self, StoreError> {
        let mut found = Self {
            directory: Arc::clone(files.directory()),
            identity,
            file_bytes,
            files: BTreeMap::new(),
            next: 1,
            last: None,
            created: 0,
            pending: Vec::new(),
            cache: Arc::default(),
            reading: Arc::default(),
            used_bytes: 0,
            total_bytes: 0,
        };
        for number in files.list(FileKind::Data)? {
            found.find(files, number)?;
        }
        Ok(found)
    }

    /// Takes over a file that is there. Of one that has no head, nothing is used: its server ended
    /// when it had just made it.
    fn find(&mut self, files: &Files, number: u64) -> Result<(), StoreError> {
        if let Some(head) = files.head(FileKind::Data, number)?
            && head.identity != self.identity
        {
            let path = files.path(FileKind::Data, number);
            return Err(StoreError::foreign(&path, &head.identity, &self.identity));
        }
        self.add(number, files.size(FileKind::Data, number)?);
        Ok(())
    }

    fn add(&mut self, number: u64, bytes: u64) -> &mut Usage {
        let file = DataFile {
            directory: Arc::clone(&self.directory),
            name: files::name(FileKind::Data, number),
            cache: Arc::clone(&self.cache),
            reading: Arc::clone(&self.reading),
        };
        self.total_bytes += bytes;
        self.next = self.next.max(number + 1);
        self.files.entry(number).or_insert(Usage {
            file: Arc::new(file),
            bytes,
            used_bytes: 0,
        })
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The bytes that chunks have.
    pub const fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// The size of all files, in bytes.
    pub const fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The part `from..to` of a piece that an entry of the log names. Its file may be gone, if
    /// later entries have replaced all that was in it.
    pub fn named(&mut self, name: PieceName, chunk: ChunkId, from: u32, to: u32) -> Payload {
        let file = match self.files.get(&name.file) {
            Some(usage) => Arc::clone(&usage.file),
            None => Arc::clone(&self.add(name.file, 0).file),
        };
        Payload::stored(Stored {
            source: Piece::new(name, file, chunk),
            from: from as usize,
            to: to as usize,
        })
    }

    /// Checks, when all entries were read, that the files of all data in use are there.
    ///
    /// # Errors
    /// If one is missing.
    pub fn check_present(&self) -> Result<(), StoreError> {
        let missing = |usage: &&Usage| usage.bytes == 0 && usage.used_bytes > 0;
        if let Some(usage) = self.files.values().find(missing) {
            let (path, bytes) = (usage.file.path(), usage.used_bytes);
            return Err(StoreError::MissingData { path, bytes });
        }
        Ok(())
    }

    /// Appends data of a chunk. [`DataFiles::write`] writes it.
    pub fn append(&mut self, chunk: ChunkId, bytes: Bytes) -> Payload {
        let number = self.number_for_new();
        let length = bytes.len();
        match self.pending.last_mut() {
            Some((last, pieces)) if *last == number => pieces.push(bytes.clone()),
            _ => self.pending.push((number, vec![bytes.clone()])),
        }
        self.total_bytes += length as u64;
        let usage = match self.files.get_mut(&number) {
            Some(usage) => usage,
            None => self.add(number, HEAD_BYTES as u64),
        };
        let name = PieceName::of(&bytes, number, usage.bytes);
        usage.bytes += length as u64;
        let piece = Piece::new(name, Arc::clone(&usage.file), chunk);
        piece.cache(bytes);
        Payload::stored(Stored {
            source: piece,
            from: 0,
            to: length,
        })
    }

    /// The number of the file for new data.
    fn number_for_new(&mut self) -> u64 {
        let is_full = |number: &u64| {
            let usage = self.files.get(number);
            usage.is_none_or(|usage| usage.bytes >= self.file_bytes)
        };
        if self.last.as_ref().is_none_or(is_full) {
            self.last = Some(self.next);
            self.add(self.next, HEAD_BYTES as u64);
        }
        self.last.unwrap_or(self.next)
    }

    /// Hands what was appended to the system: it survives the end of the process.
    ///
    /// # Errors
    /// If the system refuses to write.
    pub fn write(&mut self, files: &mut Files) -> Result<(), StoreError> {
        for (number, pieces) in std::mem::take(&mut self.pending) {
            if self.created < number {
                let head = Head {
                    identity: self.identity,
                    number,
                    previous: 0,
                };
                files.create(FileKind::Data, &head)?;
                self.created = number;
            }
            files.append(FileKind::Data, number, &pieces)?;
        }
        Ok(())
    }

    /// Counts the data that a change of a chunk brings and removes. `before` is the chunk's data
    /// before it.
    pub fn count(&mut self, before: Option<&Extents>, change: &DataChange) {
        let (from, to) = match change {
            DataChange::Write {
                offset, payload, ..
            } => (*offset, offset + payload.len() as u32),
            DataChange::Punch { from, to, .. } => (*from, *to),
        };
        let removed = before.map(|extents| extents.read(from, to));
        for (_, payload) in removed.iter().flatten() {
            self.count_piece(payload, |used, bytes| used - bytes);
        }
        if let DataChange::Write { payload, .. } = change {
            self.count_piece(payload, |used, bytes| used + bytes);
        }
    }

    fn count_piece(&mut self, payload: &Payload, counted: impl Fn(u64, u64) -> u64) {
        if let Some((piece, part)) = piece_of(payload)
            && let Some(usage) = self.files.get_mut(&piece.name().file)
        {
            let bytes = part.len() as u64;
            usage.used_bytes = counted(usage.used_bytes, bytes);
            self.used_bytes = counted(self.used_bytes, bytes);
        }
    }

    /// The files of whose bytes at most one part in `share` is used.
    pub fn little_used(&self, share: u64) -> BTreeSet<u64> {
        let others = self
            .files
            .iter()
            .filter(|(number, _)| Some(**number) != self.last);
        let little = others.filter(|(_, usage)| usage.used_bytes <= usage.bytes / share);
        little.map(|(&number, _)| number).collect()
    }

    /// The file with the fewest used bytes.
    pub fn least_used(&self) -> Option<u64> {
        let others = self
            .files
            .iter()
            .filter(|(number, _)| Some(**number) != self.last);
        let least = others.min_by_key(|(_, usage)| usage.used_bytes);
        least.map(|(&number, _)| number)
    }

    /// The bytes of a file that chunks have.
    pub fn used_bytes_of(&self, file: Option<u64>) -> u64 {
        let usage = file.and_then(|number| self.files.get(&number));
        usage.map_or(0, |usage| usage.used_bytes)
    }

    /// Gives up the files of which nothing is used. Returns their numbers.
    pub fn take_unused(&mut self) -> Vec<u64> {
        if self.used_bytes == self.total_bytes {
            return Vec::new();
        }
        let unused = self.little_used(u64::MAX);
        for number in &unused {
            if let Some(usage) = self.files.remove(number) {
                self.total_bytes -= usage.bytes;
            }
        }
        unused.into_iter().collect()
    }

    /// The bytes in memory.
    pub fn cached_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    /// Limits the data in memory.
    pub fn shrink_cache(&self, limit_bytes: u64) {
        self.cache.shrink(limit_bytes);
    }

    /// Whether reading has failed since the last call.
    pub fn take_failed(&self) -> bool {
        self.reading.take_failed()
    }

    /// The first failures of reading.
    pub fn failures(&self) -> Vec<String> {
        self.reading.listed()
    }
}

/// The piece behind a payload, and which part of it; `None` if it is in memory.
pub fn piece_of(payload: &Payload) -> Option<(&Piece, &Stored)> {
    let stored = payload.as_stored()?;
    let source: &dyn Any = &*stored.source;
    Some((source.downcast_ref()?, stored))
}
