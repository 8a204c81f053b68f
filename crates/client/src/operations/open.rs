//! Opens and closes files.

use crate::{Client, Context, client::UNEXPECTED};
use alloc::vec::Vec;
use futago_base::{Errno, FileId};
use futago_wire::{Failure, FileState, Reply, Request};

impl<C: Context> Client<C> {
    /// Opens a file: it exists until the last [`Client::close`], even without names. Under a lease
    /// the client registers the open at the home only when it must. Errors: `ESTALE` if it does not
    /// exist.
    pub async fn open(&self, id: FileId) -> Result<FileState, Errno> {
        self.persist(|| self.try_open(id)).await
    }

    pub(crate) async fn try_open(&self, id: FileId) -> Result<FileState, Failure> {
        self.flush(id).await;
        let (home, now) = (self.home_part(id), self.context().now());
        match self.with_leases(|leases| leases.open(home, now)) {
            Some(Some(state)) => Ok(state),
            _ => self.try_register(id).await,
        }
    }

    /// Like [`Client::open`], but registered at the home. A writer beyond the size needs that.
    async fn register(&self, id: FileId) -> Result<(), Errno> {
        self.persist(|| self.try_register(id)).await.map(drop)
    }

    async fn try_register(&self, id: FileId) -> Result<FileState, Failure> {
        match self.ask(self.map().home(id), Request::Open(id)).await? {
            Reply::Opened(state) => Ok(self.seen(state)),
            _ => Err(UNEXPECTED),
        }
    }

    /// The files that are open here and not registered at their homes, and how often.
    pub fn unregistered_opens(&self) -> Vec<(FileId, u32)> {
        self.with_leases(|leases| leases.opens().collect())
            .unwrap_or_default()
    }

    /// Registers all opens of a file at its home. A removed file needs no registration. Errors: the
    /// home cannot be reached.
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
                // A removed file needs no close.
                self.unregister(id).await.ok();
            }
        }
        Ok(())
    }

    /// Removes one registration of a file at its home. The home permits chunks beyond the size only
    /// while the file is registered, so the client asks again before it writes there.
    async fn unregister(&self, id: FileId) -> Result<Reply, Errno> {
        if let Some(hint) = self.memory.borrow_mut().files.get_mut(id) {
            hint.writable = hint.writable.min(hint.size_seen);
        }
        self.ask_home(id, Request::Close(id)).await
    }

    fn is_open_unregistered(&self, id: FileId) -> bool {
        self.with_leases(|leases| leases.is_open(id)) == Some(true)
    }

    /// Reverses one [`Client::open`], after a write-back of the file. The close takes effect even
    /// if the write-back fails. Errors: as [`Client::synchronize`]; if the home cannot be reached,
    /// it keeps the file open until the session ends.
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
