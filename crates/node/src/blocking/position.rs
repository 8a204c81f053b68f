//! Reads and writes of a program's memory, at an offset or at the position of a file.

use super::{File, os_error};
use futago_base::{Errno, Payload, limits};
use futago_files::WriteOffset;
use std::{
    io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write},
    mem::take,
    ops::Range,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The most bytes that one operation transfers, so that large calls need little memory.
const TRANSFER_BYTES_MAX: usize = 32 << 20;

/// The offset of the next read or write, for one operation at a time. It is read without the lock,
/// because a child of this process finds the lock in the state that another thread has left.
#[derive(Debug, Default)]
pub(super) struct Position {
    offset: AtomicU64,
    moving: Mutex<()>,
}

impl Position {
    pub fn get(&self) -> u64 {
        self.offset.load(Ordering::Relaxed)
    }

    pub fn set(&self, offset: u64) {
        self.offset.store(offset, Ordering::Relaxed);
    }

    /// Keeps other threads from moving the position. It is valid after a panic, too, because it is
    /// changed in one step.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File {
    /// Reads into a buffer and returns the number of bytes; fewer than it holds only at the end of
    /// the file.
    ///
    /// # Errors
    /// Those of `pread`.
    pub fn read_into(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_vectored_into(&mut [IoSliceMut::new(buffer)], offset)
    }

    /// Reads into several buffers, one after the other, and returns the number of bytes.
    ///
    /// # Errors
    /// Those of `preadv`.
    pub fn read_vectored_into(
        &self,
        mut buffers: &mut [IoSliceMut<'_>],
        offset: u64,
    ) -> io::Result<usize> {
        let wanted = buffers.iter().map(|buffer| buffer.len()).sum();
        let mut done = 0;
        while done < wanted {
            let length = TRANSFER_BYTES_MAX.min(wanted - done);
            let data = self.read_at(offset + done as u64, length as u32)?;
            scatter(&data, &mut buffers);
            done += data.len();
            if data.len() < length {
                break;
            }
        }
        Ok(done)
    }

    /// Writes a copy of a buffer, and returns the written range. As [`File::write_at`], it writes
    /// at the end of a file that was opened to append.
    ///
    /// # Errors
    /// As [`File::write_at`].
    pub fn write_from(&self, buffer: &[u8], offset: u64) -> io::Result<Range<u64>> {
        if self.mode().appends || buffer.len() <= TRANSFER_BYTES_MAX {
            return self.write_copy(&[buffer], offset);
        }
        let mut written = offset..offset;
        for part in buffer.chunks(TRANSFER_BYTES_MAX) {
            written.end = self.write_copy(&[part], written.end)?.end;
        }
        Ok(written)
    }

    /// Writes a copy of several buffers, one after the other, with one write.
    ///
    /// # Errors
    /// As [`File::write_at`].
    pub fn write_vectored_from(
        &self,
        buffers: &[IoSlice<'_>],
        offset: u64,
    ) -> io::Result<Range<u64>> {
        let parts: Vec<&[u8]> = buffers.iter().map(|buffer| &**buffer).collect();
        self.write_copy(&parts, offset)
    }

    fn write_copy(&self, parts: &[&[u8]], offset: u64) -> io::Result<Range<u64>> {
        let spare = take(&mut *self.spare());
        let (copy, spare) = Payload::copied(parts, spare);
        let written = self.write_payload(WriteOffset::At(offset), copy);
        *self.spare() = spare;
        written
    }

    fn spare(&self) -> MutexGuard<'_, Payload> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies data to the beginning of buffers, and leaves the rest of them.
fn scatter(mut data: &[u8], buffers: &mut &mut [IoSliceMut<'_>]) {
    while let Some(first) = buffers.first_mut().filter(|_| !data.is_empty()) {
        let (part, rest) = data.split_at(data.len().min(first.len()));
        first[..part.len()].copy_from_slice(part);
        IoSliceMut::advance_slices(buffers, part.len());
        data = rest;
    }
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_vectored(&mut [IoSliceMut::new(buffer)])
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let _moving = self.position.lock();
        let offset = self.position.get();
        let count = self.read_vectored_into(buffers, offset)?;
        self.position.set(offset + count as u64);
        Ok(count)
    }
}

impl Write for &File {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let _moving = self.position.lock();
        let written = self.write_from(buffer, self.position.get())?;
        self.position.set(written.end);
        Ok(buffer.len())
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let _moving = self.position.lock();
        let written = self.write_vectored_from(buffers, self.position.get())?;
        self.position.set(written.end);
        Ok((written.end - written.start) as usize)
    }

    /// Does nothing, as of files of the standard library: [`File::synchronize`] stores data.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let _moving = self.position.lock();
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(distance) => self.position.get().checked_add_signed(distance),
            SeekFrom::End(distance) => self.metadata()?.size.checked_add_signed(distance),
        };
        let target = target.filter(|target| *target <= limits::FILE_BYTES);
        let target = target.ok_or_else(|| os_error(Errno::EINVAL))?;
        self.position.set(target);
        Ok(target)
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(buffers)
    }
}

impl Write for File {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self).write(buffer)
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(buffers)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}
