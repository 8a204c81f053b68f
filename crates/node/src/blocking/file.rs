//! Open files.

use super::FileSystem;
use crate::RecordedClient;
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Payload};
use futago_files::{FileWrite, OpenFile, WriteOffset};
use futago_wire::AttributeChange;
use std::{
    io,
    ops::Range,
    pin::pin,
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
    file_system: FileSystem,
    pub(super) open: Arc<OpenFile>,
    /// The offset of the next read or write through the traits of `std::io`.
    pub(super) position: Mutex<u64>,
    is_closed: bool,
}

impl File {
    pub(super) const fn new(file_system: FileSystem, open: Arc<OpenFile>) -> Self {
        Self {
            file_system,
            open,
            position: Mutex::new(0),
            is_closed: false,
        }
    }

    /// Runs an operation of the client.
    pub(super) fn run<T>(
        &self,
        operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
    ) -> io::Result<T> {
        self.file_system.run(operation)
    }

    /// The file's identity.
    pub fn id(&self) -> FileId {
        self.open.id()
    }

    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// Those of `pread`.
    pub fn read_at(&self, offset: u64, length: u32) -> io::Result<Bytes> {
        let read = self.run(async |client| self.open.read(client, offset, length).await)?;
        Ok(read.bytes())
    }

    /// Writes at `offset`.
    ///
    /// # Errors
    /// Those of `pwrite`. Some of the data may have been written.
    pub fn write_at(&self, offset: u64, data: Bytes) -> io::Result<()> {
        self.write(WriteOffset::At(offset), data).map(drop)
    }

    /// Writes at the current end of the file and returns the offset.
    pub fn append(&self, data: Bytes) -> io::Result<u64> {
        self.write(WriteOffset::End, data).map(|range| range.start)
    }

    /// Returns the written range.
    fn write(&self, offset: WriteOffset, data: Bytes) -> io::Result<Range<u64>> {
        let write = FileWrite {
            offset,
            data: Payload::from(data),
            kill_privileges: !self.file_system.caller.is_root(),
            is_synchronous: false,
        };
        self.run(async |client| self.open.write(client, write).await)
    }

    /// Stores all data that this client has written to the file at its servers, as `fsync` does.
    /// Without [`Options::leases`](crate::Options::leases) the data is there already.
    ///
    /// # Errors
    /// The reason why earlier written data was lost. Every `File` that has written to the file
    /// reports it, once.
    pub fn synchronize(&self) -> io::Result<()> {
        self.run(async |client| self.open.synchronize(client).await)
    }

    /// The attributes as `fstat` returns them.
    pub fn metadata(&self) -> io::Result<Attributes> {
        self.run(async |client| {
            let state = pin!(client.attributes(self.open.id()));
            Ok(self.open.run(client, state).await?.attributes)
        })
    }

    /// Sets the size.
    ///
    /// # Errors
    /// Those of `ftruncate`.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        let change = AttributeChange {
            size: Some(size),
            kill_privileges: !self.file_system.caller.is_root(),
            ..AttributeChange::default()
        };
        self.run(async |client| {
            let set = pin!(client.set_attributes(self.open.id(), change));
            self.open.run(client, set).await.map(drop)
        })
    }

    /// Closes the file. Buffered writes are sent first.
    ///
    /// # Errors
    /// As [`File::synchronize`], or those of `close`.
    pub fn close(mut self) -> io::Result<()> {
        self.is_closed = true;
        let open = Arc::clone(&self.open);
        self.run(async |client| {
            let synchronized = open.synchronize(client).await;
            let closed = client.files().close(client, open).await;
            synchronized.and(closed)
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if !self.is_closed {
            let open = Arc::clone(&self.open);
            // If this fails, the end of the session closes the file. Other files that have written
            // to it report a loss.
            self.file_system.futago().spawn(move |client| async move {
                client.files().close(&*client, open).await.ok();
            });
        }
    }
}
