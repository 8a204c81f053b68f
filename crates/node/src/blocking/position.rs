//! The position of a file, for the traits of `std::io`.

use super::{File, os_error};
use bytes::Bytes;
use futago_base::Errno;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{MutexGuard, PoisonError};

impl File {
    /// The position, for one operation at a time. Each changes it in one step, so it is valid after
    /// a panic, too.
    fn position(&self) -> MutexGuard<'_, u64> {
        let position = self.position.lock();
        position.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut position = self.position();
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let data = self.read_at(*position, length)?;
        buffer[..data.len()].copy_from_slice(&data);
        *position += data.len() as u64;
        Ok(data.len())
    }
}

impl Write for &File {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut position = self.position();
        self.write_at(*position, Bytes::copy_from_slice(buffer))?;
        *position += buffer.len() as u64;
        Ok(buffer.len())
    }

    /// Does nothing, as of files of the standard library: [`File::synchronize`] stores data.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut position = self.position();
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(offset) => position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.metadata()?.size.checked_add_signed(offset),
        };
        *position = target.ok_or_else(|| os_error(Errno::EINVAL))?;
        Ok(*position)
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for File {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self).write(buffer)
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
