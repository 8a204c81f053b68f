//! Makes a file without a name.

use crate::{Client, Context};
use futago_base::{Errno, FileId};
use futago_wire::{FileState, NewNode, Reply, Request};

impl<C: Context> Client<C> {
    /// Makes a regular file without a name that the session has open, as `O_TMPFILE` does, or a
    /// character device. It exists until its last [`Client::close`] unless [`Client::link`] gives
    /// it a name. Errors: `EINVAL` for another kind of node, `ENOENT`, `ENOSPC`.
    pub async fn create_unnamed(
        &self,
        directory: FileId,
        node: NewNode,
    ) -> Result<FileState, Errno> {
        let request = Request::CreateUnnamed { directory, node };
        match self.ask_home(directory, request).await? {
            Reply::Found {
                state: Some(state), ..
            } => Ok(self.seen(state)),
            _ => Err(Errno::EPROTO),
        }
    }
}
