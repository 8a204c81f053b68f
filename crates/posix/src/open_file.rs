//! An open file: its position, and reads and writes of a caller's memory.

use crate::outcome::error;
use bytes::Bytes;
use futago_node::blocking::{File, FileSystem};
use std::{
    io::{self, SeekFrom},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The most bytes that are copied at a time, so that large calls need little memory.
const TRANSFER_BYTES_MAX: usize = 32 << 20;
/// The largest position.
const POSITION_MAX: u64 = i64::MAX as u64;

/// An open file with a position. Any number of threads may use it.
pub struct OpenFile {
    file: File,
    /// Read without the lock by a child of this process, in which no thread may hold it.
    position: AtomicU64,
    moving: Mutex<()>,
    /// Why earlier writes were lost, until somebody asks.
    lost: Mutex<Option<io::Error>>,
}

impl OpenFile {
    /// Begins at position 0.
    pub const fn new(file: File) -> Self {
        Self::at(file, 0)
    }

    const fn at(file: File, position: u64) -> Self {
        Self {
            file,
            position: AtomicU64::new(position),
            moving: Mutex::new(()),
            lost: Mutex::new(None),
        }
    }

    /// The file without its position.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// Closes the file.
    ///
    /// # Errors
    /// Why earlier writes were lost.
    pub fn close(self) -> io::Result<()> {
        let lost = self.take_lost();
        self.file.close().and(lost)
    }

    /// Has the servers hold all that was written.
    ///
    /// # Errors
    /// Why earlier writes were lost.
    pub fn synchronize(&self) -> io::Result<()> {
        self.file.synchronize().and(self.take_lost())
    }

    /// As [`OpenFile::synchronize`], which reports the error the next time.
    pub fn synchronize_for_later(&self) {
        if let Err(lost) = self.file.synchronize() {
            *self.lost() = Some(lost);
        }
    }

    fn take_lost(&self) -> io::Result<()> {
        self.lost().take().map_or(Ok(()), Err)
    }

    fn lost(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same file and position with another client.
    ///
    /// # Errors
    /// Those of opening; `ESTALE` if the file is gone.
    pub fn open_again(&self, files: &FileSystem) -> io::Result<Self> {
        let position = self.position.load(Ordering::Relaxed);
        Ok(Self::at(files.open_id(self.file.id())?, position))
    }

    /// Reads at an offset and returns the number of bytes, less than asked for only at the end.
    ///
    /// # Errors
    /// Those of `pread`.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        for part in into.chunks_mut(TRANSFER_BYTES_MAX) {
            let read = self.file.read_at(offset + done as u64, part.len() as u32)?;
            part[..read.len()].copy_from_slice(&read);
            done += read.len();
            if read.len() < part.len() {
                break;
            }
        }
        Ok(done)
    }

    /// Writes all bytes at an offset.
    ///
    /// # Errors
    /// Those of `pwrite`; `EFBIG` beyond the largest position. Some bytes may have been written.
    pub fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(from.len() as u64);
        if end.is_none_or(|end| end > POSITION_MAX) {
            return Err(error(libc::EFBIG));
        }
        let mut offset = offset;
        for part in from.chunks(TRANSFER_BYTES_MAX) {
            self.file.write_at(offset, Bytes::copy_from_slice(part))?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    /// Reads at the position and moves it.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        let _moving = self.moving();
        let count = self.read_at(into, self.position.load(Ordering::Relaxed))?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    /// Writes at the position and moves it.
    ///
    /// # Errors
    /// Those of `write`. The position stays where it was.
    pub fn write(&self, from: &[u8]) -> io::Result<usize> {
        let _moving = self.moving();
        self.write_at(from, self.position.load(Ordering::Relaxed))?;
        let length = from.len() as u64;
        self.position.fetch_add(length, Ordering::Relaxed);
        Ok(from.len())
    }

    /// Moves the position and returns the new one.
    ///
    /// # Errors
    /// `EINVAL` if it is negative or too large.
    pub fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let _moving = self.moving();
        let position = self.position.load(Ordering::Relaxed);
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(distance) => position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.file.metadata()?.size.checked_add_signed(distance),
        };
        let target = target.filter(|target| *target <= POSITION_MAX);
        let target = target.ok_or_else(|| error(libc::EINVAL))?;
        self.position.store(target, Ordering::Relaxed);
        Ok(target)
    }

    /// Keeps other threads from moving the position.
    fn moving(&self) -> MutexGuard<'_, ()> {
        // The position is whole also after a panic.
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
