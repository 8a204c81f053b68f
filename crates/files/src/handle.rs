//! An open file in the mode in which a program has opened it. Operations check that mode as POSIX
//! says; the kernel does so for a mount.

use crate::{
    Access, Credentials, FileWrite, OpenFile, OpenFiles, OpenMode, Operations, WriteOffset,
    handle_locks::PROCESS,
};
use alloc::sync::Arc;
use core::{ops::Range, pin::pin};
use futago_base::{Attributes, Errno, FileId, Payload};
use futago_client::AllocateMode;
use futago_wire::AttributeChange;

/// An open file, its mode, and the caller that has opened it.
#[derive(Clone, Debug)]
pub struct FileHandle {
    pub(crate) open: Arc<OpenFile>,
    pub(crate) mode: OpenMode,
    caller: Credentials,
}

impl FileHandle {
    /// A handle of a file that the caller has opened.
    pub const fn new(open: Arc<OpenFile>, mode: OpenMode, caller: Credentials) -> Self {
        Self { open, mode, caller }
    }

    /// The open file.
    pub const fn open(&self) -> &Arc<OpenFile> {
        &self.open
    }

    /// The file.
    pub fn id(&self) -> FileId {
        self.open.id()
    }

    /// The mode.
    pub const fn mode(&self) -> OpenMode {
        self.mode
    }

    /// The caller.
    pub const fn caller(&self) -> Credentials {
        self.caller
    }

    /// Reads up to `length` bytes; fewer only at the end of the file.
    ///
    /// # Errors
    /// `EBADF` if it is not open for reading, and those of [`OpenFile::read`].
    pub async fn read(
        &self,
        client: &impl Operations,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        self.mode.access.check_read()?;
        self.open.read(client, offset, length).await
    }

    /// Writes, and returns the written range. In append mode the offset is the end of the file.
    ///
    /// # Errors
    /// `EBADF` if it is not open for writing, and those of [`OpenFile::write`].
    pub async fn write(
        &self,
        client: &impl Operations,
        offset: WriteOffset,
        data: Payload,
    ) -> Result<Range<u64>, Errno> {
        self.mode.access.check_write()?;
        let write = FileWrite {
            offset: match self.mode.appends {
                true => WriteOffset::End,
                false => offset,
            },
            data,
            kill_privileges: !self.caller.is_root(),
            is_synchronous: self.mode.is_synchronous,
        };
        self.open.write(client, write).await
    }

    /// The attributes, as `fstat` returns them.
    ///
    /// # Errors
    /// `ESTALE` if the session has ended; `EIO`.
    pub async fn attributes(&self, client: &impl Operations) -> Result<Attributes, Errno> {
        let state = pin!(client.attributes(self.id()));
        Ok(self.open.run(client, state).await?.attributes)
    }

    /// Changes attributes: the operations of `ftruncate`, `fchmod`, `fchown` and `futimens`.
    ///
    /// # Errors
    /// `EINVAL` for a size if it is not open for writing; `EFBIG`, `ESTALE`, `EIO`.
    pub async fn set_attributes(
        &self,
        client: &impl Operations,
        change: AttributeChange,
    ) -> Result<(), Errno> {
        if change.size.is_some() && self.mode.access == Access::Read {
            return Err(Errno::EINVAL);
        }
        let change = self.caller.change(change);
        let set = pin!(client.set_attributes(self.id(), change));
        self.open.run(client, set).await.map(drop)
    }

    /// The operation of `fallocate`.
    ///
    /// # Errors
    /// As [`FileHandle::write`]; `EINVAL` for an empty range.
    pub async fn allocate(
        &self,
        client: &impl Operations,
        mode: AllocateMode,
        range: Range<u64>,
    ) -> Result<(), Errno> {
        self.mode.access.check_write()?;
        let kill_privileges = !self.caller.is_root();
        let allocate = self.open.allocate(client, mode, range, kill_privileges);
        allocate.await
    }

    /// The first offset at or after `offset` that holds data.
    ///
    /// # Errors
    /// `ENXIO` beyond the last data; `ESTALE`, `EIO`.
    pub async fn next_data(&self, client: &impl Operations, offset: u64) -> Result<u64, Errno> {
        let seek = pin!(client.core().seek_data(self.id(), offset));
        self.open.run(client, seek).await
    }

    /// The first hole at or after `offset`; the end of the file is one.
    ///
    /// # Errors
    /// `ENXIO` at or beyond the end; `ESTALE`, `EIO`.
    pub async fn next_hole(&self, client: &impl Operations, offset: u64) -> Result<u64, Errno> {
        let seek = pin!(client.core().seek_hole(self.id(), offset));
        self.open.run(client, seek).await
    }

    /// The operation of `close` on one of several handles of the file: all earlier writes to the
    /// file are on its servers, and the locks end that the process has on ranges of it.
    ///
    /// # Errors
    /// Those of [`OpenFiles::flush`].
    pub async fn flush(&self, files: &OpenFiles, client: &impl Operations) -> Result<(), Errno> {
        files.flush(client, &self.open, PROCESS).await
    }

    /// Closes the handle after [`FileHandle::flush`]. The close takes effect even if data is lost.
    ///
    /// # Errors
    /// Those of [`OpenFiles::flush`] and of [`OpenFiles::close`].
    pub async fn close(&self, files: &OpenFiles, client: &impl Operations) -> Result<(), Errno> {
        let flushed = self.flush(files, client).await;
        let closed = files.close(client, Arc::clone(&self.open)).await;
        flushed.and(closed)
    }
}
