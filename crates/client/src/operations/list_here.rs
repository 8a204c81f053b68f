//! Lists the entries of a directory on one server.

use crate::{Client, Context, client::UNEXPECTED};
use futago_base::{Errno, FileId, NameHash, ServerId};
use futago_wire::{ListedEntry, Reply, Request};

impl<C: Context> Client<C> {
    /// Lists about `entries_max` entries of a directory that a server has and whose names have a
    /// larger hash than `after`, without attributes. The result is empty only at the end. While no
    /// bucket of the directory splits, each entry is at exactly one server. Errors: `EIO` if the
    /// server cannot be reached.
    pub async fn list_here(
        &self,
        directory: FileId,
        server: ServerId,
        after: NameHash,
        entries_max: u32,
    ) -> Result<alloc::vec::Vec<ListedEntry>, Errno> {
        let request = Request::ListHere {
            directory,
            after,
            entries_max,
        };
        self.persist(|| async {
            match self.ask(server, request.clone()).await? {
                Reply::ListedHere { entries, .. } => Ok(entries),
                _ => Err(UNEXPECTED),
            }
        })
        .await
    }
}
