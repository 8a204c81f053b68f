//! A piece of data in a file.

use super::{cache::Cache, reading::Reading};
use crate::{StoreError, directory::Directory};
use bytes::Bytes;
use futago_base::{ChunkId, Source};
use serde::{Deserialize, Serialize};
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

/// The bytes that have a checksum of their own: a small read does not have to read much more, and
/// checksums take little memory.
const BLOCK_BYTES: usize = 64 << 10;

/// Where a piece is, and what it must look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PieceName {
    /// The number of the file.
    pub file: u64,
    /// Its first byte there.
    pub at: u64,
    /// Its length, in bytes.
    pub bytes: u32,
    /// The CRC-32C of each of its blocks.
    pub sums: Box<[u32]>,
}

impl PieceName {
    /// The name of bytes at a place.
    pub fn of(bytes: &[u8], file: u64, at: u64) -> Self {
        Self {
            file,
            at,
            bytes: bytes.len() as u32,
            sums: bytes.chunks(BLOCK_BYTES).map(crc32c::crc32c).collect(),
        }
    }
}

/// A file of data.
#[derive(Debug)]
pub struct DataFile {
    pub directory: Arc<dyn Directory>,
    pub name: String,
    pub cache: Arc<Cache>,
    pub reading: Arc<Reading>,
}

impl DataFile {
    /// Its path, for messages.
    pub fn path(&self) -> PathBuf {
        self.directory.path(&self.name)
    }
}

/// A piece of data in a file, and its bytes if they are in memory.
#[derive(Debug)]
pub struct Piece {
    name: PieceName,
    file: Arc<DataFile>,
    /// The chunk that it was written to.
    chunk: ChunkId,
    cached: Mutex<Option<Bytes>>,
    /// Whether it was read since it was last spared by the cache.
    is_used: AtomicBool,
    this: Weak<Self>,
}

impl Piece {
    /// A piece of a file.
    pub fn new(name: PieceName, file: Arc<DataFile>, chunk: ChunkId) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            name,
            file,
            chunk,
            cached: Mutex::new(None),
            is_used: AtomicBool::new(false),
            this: this.clone(),
        })
    }

    /// Where it is.
    pub const fn name(&self) -> &PieceName {
        &self.name
    }

    /// Takes its bytes into the cache.
    pub fn cache(&self, bytes: Bytes) {
        let length = bytes.len();
        if self.cached().replace(bytes).is_none() {
            self.file.cache.insert(self.this.clone(), length);
        }
    }

    /// Drops its bytes from memory, unless they were used since the last time.
    pub fn give_up(&self) -> bool {
        let is_used = self.is_used.swap(false, Ordering::Relaxed);
        if !is_used && let Some(bytes) = self.cached().take() {
            self.file.cache.note_lost(bytes.len());
        }
        !is_used
    }

    fn cached(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the blocks around `from..to`.
    fn read_blocks(&self, from: usize, to: usize) -> Result<Bytes, StoreError> {
        let length = self.name.bytes as usize;
        let low = from / BLOCK_BYTES * BLOCK_BYTES;
        let high = to.next_multiple_of(BLOCK_BYTES).min(length);
        let bytes = self.read_file(low, high)?;
        let sums = self.name.sums.iter().skip(low / BLOCK_BYTES);
        for (number, (block, sum)) in bytes.chunks(BLOCK_BYTES).zip(sums).enumerate() {
            if crc32c::crc32c(block) != *sum {
                let offset = self.name.at + (low + number * BLOCK_BYTES) as u64;
                return Err(self.damaged(offset));
            }
        }
        let bytes = Bytes::from(bytes);
        if (low, high) == (0, length) {
            self.cache(bytes.clone());
        }
        Ok(bytes.slice(from - low..to - low))
    }

    /// Whether all of it is in its file as it was written.
    pub fn is_whole(&self) -> bool {
        self.read_blocks(0, self.name.bytes as usize).is_ok()
    }

    /// Writes all of it again if it is as it was written: the file may show what the disk does not
    /// have.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_again(&self) -> Result<(), StoreError> {
        let Ok(bytes) = self.read_blocks(0, self.name.bytes as usize) else {
            return Ok(());
        };
        let DataFile {
            directory, name, ..
        } = &*self.file;
        let written = directory.overwrite(name, &bytes, self.name.at);
        written.map_err(StoreError::io("writing again", self.file.path()))
    }

    fn read_file(&self, low: usize, high: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; high - low];
        let offset = self.name.at + low as u64;
        let DataFile {
            directory, name, ..
        } = &*self.file;
        match directory.read(name, &mut bytes, offset) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.damaged(offset)),
            Err(error) => Err(StoreError::io("reading", self.file.path())(error)),
        }
    }

    fn damaged(&self, offset: u64) -> StoreError {
        StoreError::DamagedData {
            path: self.file.path(),
            offset,
            chunk: self.chunk,
        }
    }
}

impl Source for Piece {
    fn read(&self, from: usize, to: usize) -> Bytes {
        self.is_used.store(true, Ordering::Relaxed);
        let cached = self.cached().as_ref().map(|bytes| bytes.slice(from..to));
        cached.unwrap_or_else(|| {
            self.read_blocks(from, to).unwrap_or_else(|error| {
                self.file.reading.note_failure(error);
                vec![0; to - from].into()
            })
        })
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(bytes) = self.cached().take() {
            self.file.cache.note_lost(bytes.len());
        }
    }
}
