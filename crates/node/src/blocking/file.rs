//! Open files.

use super::{FileSystem, position::Position};
use crate::{RecordedClient, asynchronous, opened::Opened};
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Payload};
use futago_client::AllocateMode;
use futago_files::{FileHandle, OpenMode, WriteOffset};
use futago_wire::AttributeChange;
use std::{
    io,
    ops::Range,
    sync::{Arc, Mutex},
};

/// An open file. It is closed when it is dropped; [`File::close`] also returns the error of
/// closing.
///
/// [`File`] and `&File` read, write and seek at one position, as files of the standard library do.
/// Threads that share the file share the position, and use it one at a time.
///
/// All operations fail with `ESTALE` after the client's session has expired, because servers had
/// not heard of it for a lease.
pub struct File {
    opened: Arc<Opened>,
    pub(super) position: Position,
    /// Written data whose buffer serves for the next write.
    pub(super) spare: Mutex<Payload>,
}

impl File {
    pub(super) fn new(files: FileSystem, handle: FileHandle) -> Self {
        Self {
            opened: Arc::new(Opened::new(files, handle)),
            position: Position::default(),
            spare: Mutex::default(),
        }
    }

    /// The same file, opened once more with another client, in the same mode and at the same
    /// position. No lock of this file is taken, so a child may do this whatever other threads of
    /// its parent were doing when it was forked.
    ///
    /// # Errors
    /// Those of `open`; `ESTALE` if the file is gone.
    pub fn open_again(&self, files: &FileSystem) -> io::Result<Self> {
        let again = files.open_id(self.id(), self.mode())?;
        again.position.set(self.position.get());
        Ok(again)
    }

    /// The same open file for calls that do not block. The file is closed when the last of both is
    /// dropped.
    #[must_use]
    pub fn asynchronous(&self) -> asynchronous::File {
        asynchronous::File::new(Arc::clone(&self.opened))
    }

    pub(super) fn handle(&self) -> &FileHandle {
        &self.opened.handle
    }

    /// Runs an operation of the client.
    pub(super) fn run<T>(
        &self,
        operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
    ) -> io::Result<T> {
        self.opened.files.run(operation)
    }

    /// The file's identity.
    pub fn id(&self) -> FileId {
        self.handle().id()
    }

    /// The mode in which the file was opened.
    pub fn mode(&self) -> OpenMode {
        self.handle().mode()
    }

    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// Those of `pread`.
    pub fn read_at(&self, offset: u64, length: u32) -> io::Result<Bytes> {
        let read = self.run(async |client| self.handle().read(client, offset, length).await)?;
        Ok(read.bytes())
    }

    /// Writes at `offset`, or at the end of a file that was opened with [`append`].
    ///
    /// [`append`]: super::OpenOptions::append
    ///
    /// # Errors
    /// Those of `pwrite`. Some of the data may have been written.
    pub fn write_at(&self, offset: u64, data: Bytes) -> io::Result<()> {
        let data = Payload::from(data);
        self.write_payload(WriteOffset::At(offset), data).map(drop)
    }

    /// Writes at the current end of the file and returns the offset.
    ///
    /// # Errors
    /// As [`File::write_at`].
    pub fn append(&self, data: Bytes) -> io::Result<u64> {
        let written = self.write_payload(WriteOffset::End, Payload::from(data))?;
        Ok(written.start)
    }

    /// Returns the written range.
    pub(super) fn write_payload(
        &self,
        offset: WriteOffset,
        data: Payload,
    ) -> io::Result<Range<u64>> {
        self.run(async |client| self.handle().write(client, offset, data).await)
    }

    /// Stores all data that this client has written to the file at its servers, as `fsync` does.
    /// Without [`Options::leases`](crate::Options::leases) the data is there already.
    ///
    /// # Errors
    /// The reason why earlier written data was lost. Every `File` that has written to the file
    /// reports it, once.
    pub fn synchronize(&self) -> io::Result<()> {
        self.run(async |client| self.handle().open().synchronize(client).await)
    }

    /// The attributes as `fstat` returns them.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn metadata(&self) -> io::Result<Attributes> {
        self.run(async |client| self.handle().attributes(client).await)
    }

    /// Sets the size.
    ///
    /// # Errors
    /// Those of `ftruncate`.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        self.set_attributes(AttributeChange {
            size: Some(size),
            ..AttributeChange::default()
        })
    }

    /// Changes attributes, as `fchmod`, `fchown`, `futimens` and `ftruncate` do.
    ///
    /// # Errors
    /// Those of these functions.
    pub fn set_attributes(&self, change: AttributeChange) -> io::Result<()> {
        self.run(async |client| self.handle().set_attributes(client, change).await)
    }

    /// Allocates space, punches a hole or zeroes a range.
    ///
    /// # Errors
    /// Those of `fallocate`.
    pub fn allocate(&self, mode: AllocateMode, range: Range<u64>) -> io::Result<()> {
        self.run(async |client| self.handle().allocate(client, mode, range).await)
    }

    /// The first offset at or after `offset` that holds data, as `lseek` with `SEEK_DATA` finds it.
    ///
    /// # Errors
    /// `ENXIO` beyond the last data.
    pub fn next_data(&self, offset: u64) -> io::Result<u64> {
        self.run(async |client| self.handle().next_data(client, offset).await)
    }

    /// The first hole at or after `offset`, as `lseek` with `SEEK_HOLE` finds it.
    ///
    /// # Errors
    /// `ENXIO` at or beyond the end.
    pub fn next_hole(&self, offset: u64) -> io::Result<u64> {
        self.run(async |client| self.handle().next_hole(client, offset).await)
    }

    /// Closes one of several descriptors of this file: buffered writes are sent, and the locks of
    /// the process on ranges of the file end, as `close` ends them.
    ///
    /// # Errors
    /// As [`File::synchronize`].
    pub fn close_one(&self) -> io::Result<()> {
        let flush = async |client: &RecordedClient| {
            let flushed = self.handle().flush(client.files(), client);
            flushed.await
        };
        self.run(flush)
    }

    /// Closes the file. Buffered writes are sent first.
    ///
    /// # Errors
    /// As [`File::synchronize`], or those of `close`.
    pub fn close(self) -> io::Result<()> {
        self.opened.end_use()
    }
}
