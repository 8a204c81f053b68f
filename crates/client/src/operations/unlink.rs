//! Removes a name that is not of a directory.

use crate::{Client, Context, client::UNEXPECTED};
use futago_base::{Errno, FileId, Name, Payload};
use futago_wire::{Failure, Reply, Request};

impl<C: Context> Client<C> {
    /// Removes a name. Errors: `ENOENT`, `EISDIR`.
    pub async fn unlink(&self, directory: FileId, name: &Name) -> Result<(), Errno> {
        self.persist(|| self.try_unlink(directory, name)).await
    }

    async fn try_unlink(&self, directory: FileId, name: &Name) -> Result<(), Failure> {
        let file = self.leased_entry(directory, name).map(|entry| entry.id);
        let request = |at| Request::Unlink { at, file };
        let (at, reply) = self
            .ask_at(directory, name, request, &Payload::empty())
            .await?;
        match reply? {
            Reply::Done | Reply::File(_) | Reply::Buckets(_) => {
                self.recall_ahead(&at).await;
                Ok(())
            }
            _ => Err(UNEXPECTED),
        }
    }
}
