//! Opens and closes files.

use crate::{Client, Context, client::UNEXPECTED};
use futago_base::{Errno, FileId};
use futago_wire::{Failure, FileState, Reply, Request};

impl<C: Context> Client<C> {
    /// Registers the file as open: it lives until the last [`Client::close`], whatever happens to
    /// its names. Errors: `ESTALE` if it is gone.
    pub async fn open(&self, id: FileId) -> Result<FileState, Errno> {
        self.send_unsent(id).await;
        self.persist(|| self.try_open(id)).await
    }

    pub(crate) async fn try_open(&self, id: FileId) -> Result<FileState, Failure> {
        match self.ask(self.map().home(id), Request::Open(id)).await? {
            Reply::Opened(state) => Ok(self.seen(state)),
            _ => Err(UNEXPECTED),
        }
    }

    /// Takes one registration back, and sends before what is unsent of the file. Errors: as [`Client::synchronize`], when
    /// the registration has been taken back.
    pub async fn close(&self, id: FileId) -> Result<(), Errno> {
        let synchronized = self.synchronize(id).await;
        match self.ask_home(id, Request::Close(id)).await? {
            Reply::Done | Reply::File(_) => synchronized,
            _ => Err(Errno::EPROTO),
        }
    }
}
