//! Opens and closes files.

use crate::{Client, Context, client::UNEXPECTED};
use alloc::vec::Vec;
use futago_base::{Errno, FileId};
use futago_wire::{Failure, FileState, Reply, Request};

impl<C: Context> Client<C> {
    /// Opens a file: it lives until the last [`Client::close`], whatever happens to its names. Under a lease its home hears
    /// of it only when it must. Errors: `ESTALE` if it is gone.
    pub async fn open(&self, id: FileId) -> Result<FileState, Errno> {
        self.persist(|| self.try_open(id)).await
    }

    pub(crate) async fn try_open(&self, id: FileId) -> Result<FileState, Failure> {
        self.send_unsent(id).await;
        let (home, now) = (self.map().home(id), self.context().now());
        match self.with_leases(|leases| leases.open(id, home, now)) {
            Some(Some(state)) => Ok(state),
            _ => self.try_register(id).await,
        }
    }

    /// As [`Client::open`], but its home hears of it: who is to write ahead of the file's size needs that.
    async fn register(&self, id: FileId) -> Result<(), Errno> {
        self.persist(|| self.try_register(id)).await.map(drop)
    }

    async fn try_register(&self, id: FileId) -> Result<FileState, Failure> {
        match self.ask(self.map().home(id), Request::Open(id)).await? {
            Reply::Opened(state) => Ok(self.seen(state)),
            _ => Err(UNEXPECTED),
        }
    }

    /// What is open here without its home's knowing, and how often.
    pub fn unregistered_opens(&self) -> Vec<(FileId, u32)> {
        self.with_leases(|leases| leases.opens().collect())
            .unwrap_or_default()
    }

    /// Has a file's home hear of all that it does not know to be open here. What is gone already there is nothing to tell of.
    /// Errors: the home cannot be reached.
    pub async fn register_opens(&self, id: FileId) -> Result<(), Errno> {
        while self.is_open_unregistered(id) {
            let registered = self.register(id).await;
            match registered {
                Err(why) if why != Errno::ESTALE && self.is_open_unregistered(id) => {
                    return Err(why);
                }
                _ => {}
            }
            let is_closed = self.with_leases(|leases| leases.close(id)) != Some(true);
            if is_closed && registered.is_ok() {
                // A file that is gone meanwhile is closed.
                self.unregister(id).await.ok();
            }
        }
        Ok(())
    }

    /// Has a file's home hear that it is open once less. Chunks are written ahead of the size only
    /// while the home knows the file to be open here, so it is asked again before that.
    async fn unregister(&self, id: FileId) -> Result<Reply, Errno> {
        if let Some(hint) = self.memory.borrow_mut().files.get_mut(id) {
            hint.writable = hint.writable.min(hint.size_seen);
        }
        self.ask_home(id, Request::Close(id)).await
    }

    fn is_open_unregistered(&self, id: FileId) -> bool {
        self.with_leases(|leases| leases.is_open(id)) == Some(true)
    }

    /// Takes one [`Client::open`] back, and sends before what is unsent of the file. Errors: as
    /// [`Client::synchronize`], when that has been taken back.
    pub async fn close(&self, id: FileId) -> Result<(), Errno> {
        let synchronized = self.synchronize(id).await;
        if self.with_leases(|leases| leases.close(id)) == Some(true) {
            return synchronized;
        }
        match self.unregister(id).await? {
            Reply::Done | Reply::File(_) => synchronized,
            _ => Err(Errno::EPROTO),
        }
    }
}
