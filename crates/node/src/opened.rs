//! A file that a program has opened, which the blocking and the asynchronous interface share.

use crate::blocking::FileSystem;
use futago_files::FileHandle;
use std::{io, sync::Arc};

/// A file that a program has opened. When its last user drops it, it is closed.
pub(crate) struct Opened {
    pub files: FileSystem,
    pub handle: FileHandle,
    is_closed: bool,
}

impl Opened {
    pub const fn new(files: FileSystem, handle: FileHandle) -> Self {
        Self {
            files,
            handle,
            is_closed: false,
        }
    }

    /// Ends one of the uses. The last one closes the file.
    ///
    /// # Errors
    /// Those of `close`.
    pub fn end_use(self: Arc<Self>) -> io::Result<()> {
        match Arc::try_unwrap(self) {
            Ok(opened) => opened.close(),
            Err(used) => used.files.run(async |client| {
                let flushed = used.handle.flush(client.files(), client);
                flushed.await
            }),
        }
    }

    fn close(mut self) -> io::Result<()> {
        self.is_closed = true;
        self.files.run(async |client| {
            let closed = self.handle.close(client.files(), client);
            closed.await
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.is_closed {
            let handle = self.handle.clone();
            // If this fails, the end of the session closes the file. Other files that have written
            // to it report a loss.
            self.files.futago().spawn(move |client| async move {
                handle.close(client.files(), &*client).await.ok();
            });
        }
    }
}
