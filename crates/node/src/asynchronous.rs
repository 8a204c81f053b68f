//! Open files for programs that keep many operations under way.
//!
//! An operation begins with the call, on the client's thread. The returned future waits for its
//! end; dropping the future does not cancel the operation. Any executor can run the futures.

use crate::{
    RecordedClient,
    blocking::{FileSystem, OpenOptions, os_error},
    client::Stopped,
    opened::Opened,
};
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Payload};
use futago_files::{FileHandle, OpenMode, WriteOffset};
use futago_wire::AttributeChange;
use std::{io, ops::Range, sync::Arc};

/// An open file. Clones are the same open file, which is closed when the last one is dropped and no
/// operation is under way.
#[derive(Clone)]
pub struct File(Arc<Opened>);

impl FileSystem {
    /// Begins to open, or to create and open, a regular file.
    ///
    /// # Errors
    /// Those of [`FileSystem::open`].
    pub fn open_asynchronous(
        &self,
        path: &[u8],
        options: OpenOptions,
    ) -> impl Future<Output = io::Result<File>> + use<> {
        let (files, path) = (self.clone(), path.to_vec());
        let opening = self.futago().run(move |client| async move {
            let handle = files.open_handle(&client, &path, options).await?;
            Ok(File::new(Arc::new(Opened::new(files, handle))))
        });
        finished(opening)
    }
}

/// The result of an operation as an error of the operating system.
async fn finished<T>(
    operation: impl Future<Output = Result<Result<T, Errno>, Stopped>>,
) -> io::Result<T> {
    operation.await?.map_err(os_error)
}

impl File {
    pub(crate) const fn new(opened: Arc<Opened>) -> Self {
        Self(opened)
    }

    fn handle(&self) -> &FileHandle {
        &self.0.handle
    }

    /// Begins an operation.
    fn run<T, Work, Operation>(
        &self,
        operation: Operation,
    ) -> impl Future<Output = io::Result<T>> + use<T, Work, Operation>
    where
        Operation: FnOnce(Arc<RecordedClient>, Self) -> Work + Send + 'static,
        T: Send + 'static,
        Work: Future<Output = Result<T, Errno>> + 'static,
    {
        let file = self.clone();
        let futago = self.0.files.futago();
        finished(futago.run(move |client| operation(client, file)))
    }

    /// The file's identity.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.handle().id()
    }

    /// The mode in which the file was opened.
    #[must_use]
    pub fn mode(&self) -> OpenMode {
        self.handle().mode()
    }

    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// Those of `pread`.
    pub fn read_at(
        &self,
        offset: u64,
        length: u32,
    ) -> impl Future<Output = io::Result<Bytes>> + use<> {
        self.run(move |client, file| async move {
            let read = file.handle().read(&*client, offset, length).await?;
            Ok(read.bytes())
        })
    }

    /// Writes at `offset`, or at the end of a file that was opened with [`OpenOptions::append`].
    /// Returns the written range.
    ///
    /// # Errors
    /// Those of `pwrite`. Some of the data may have been written.
    pub fn write_at(
        &self,
        offset: u64,
        data: Bytes,
    ) -> impl Future<Output = io::Result<Range<u64>>> + use<> {
        self.write(WriteOffset::At(offset), data)
    }

    /// Writes at the end of the file and returns the written range. Of several appends under way,
    /// each is whole, in any order.
    ///
    /// # Errors
    /// As [`File::write_at`].
    pub fn append(&self, data: Bytes) -> impl Future<Output = io::Result<Range<u64>>> + use<> {
        self.write(WriteOffset::End, data)
    }

    fn write(
        &self,
        offset: WriteOffset,
        data: Bytes,
    ) -> impl Future<Output = io::Result<Range<u64>>> + use<> {
        self.run(move |client, file| async move {
            let written = file.handle().write(&*client, offset, Payload::from(data));
            written.await
        })
    }

    /// Stores all that was written to the file by operations that have ended, as `fsync` does.
    ///
    /// # Errors
    /// The reason why earlier written data was lost, once.
    pub fn synchronize(&self) -> impl Future<Output = io::Result<()>> + use<> {
        self.run(|client, file| async move { file.handle().open().synchronize(&*client).await })
    }

    /// The attributes as `fstat` returns them.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn metadata(&self) -> impl Future<Output = io::Result<Attributes>> + use<> {
        self.run(|client, file| async move { file.handle().attributes(&*client).await })
    }

    /// Changes attributes, also the size.
    ///
    /// # Errors
    /// Those of [`blocking::File::set_attributes`](crate::blocking::File::set_attributes).
    pub fn set_attributes(
        &self,
        change: AttributeChange,
    ) -> impl Future<Output = io::Result<()>> + use<> {
        self.run(move |client, file| async move {
            let set = file.handle().set_attributes(&*client, change);
            set.await
        })
    }
}
