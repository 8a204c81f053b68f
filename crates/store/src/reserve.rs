//! Room on the disk that is set aside, because a full store must be able to be emptied: a removal,
//! too, is written first.

use crate::directory::Directory;
use std::{io, sync::Arc};

/// The name of the file that takes the room until it is needed.
const FILE: &str = "reserve";
/// The most bytes that are set aside.
const BYTES_MAX: u64 = 64 << 20;
/// At most one part in this many of the disk is set aside.
const SHARE: u64 = 64;

/// The room of a store on its disk.
#[derive(Debug)]
pub struct Reserve {
    directory: Arc<dyn Directory>,
    /// The bytes that are set aside in the file, and as many that are left free.
    bytes: u64,
    /// Whether the file is there.
    is_set_aside: bool,
    /// The bytes that were free when the disk was last asked.
    free_bytes: u64,
    /// The bytes that were written since.
    written_bytes: u64,
}

impl Reserve {
    /// Sets room aside, if the disk of a directory has some.
    ///
    /// # Errors
    /// If the disk does not say how large it is.
    pub fn new(directory: Arc<dyn Directory>) -> io::Result<Self> {
        let mut reserve = Self {
            bytes: BYTES_MAX.min(directory.room()?.total_bytes / SHARE),
            is_set_aside: directory.size(FILE).is_ok(),
            directory,
            free_bytes: 0,
            written_bytes: 0,
        };
        reserve.look();
        Ok(reserve)
    }

    /// The bytes that new data may take.
    pub fn room_bytes(&self) -> u64 {
        let missing = if self.is_set_aside { 0 } else { self.bytes };
        let taken = self.bytes + missing + self.written_bytes;
        self.free_bytes.saturating_sub(taken)
    }

    /// The bytes that are free, also those that are left free for removals.
    pub const fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// Notes that so many bytes were written. Asks the disk again before they matter.
    pub fn note(&mut self, bytes: u64) {
        self.written_bytes += bytes;
        if self.written_bytes >= self.room_bytes() / 8 {
            self.look();
        }
    }

    /// Asks the disk, whose other users come and go.
    pub fn look(&mut self) {
        // A disk that does not reply has no room.
        self.free_bytes = self.directory.room().map_or(0, |room| room.free_bytes);
        self.written_bytes = 0;
        if !self.is_set_aside && self.free_bytes > 2 * self.bytes {
            self.is_set_aside = self.directory.set_aside(FILE, self.bytes).is_ok();
        }
    }

    /// Attempts something, and once more with the room that was set aside if the disk is full.
    pub fn retry<T>(&mut self, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match attempt() {
            Err(error) if is_full(&error) && std::mem::take(&mut self.is_set_aside) => {
                self.directory.remove(FILE)?;
                self.look();
                attempt()
            }
            outcome => outcome,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind())
}
