//! Reads a symbolic link.

use crate::{Client, Context};
use bytes::Bytes;
use futago_base::{Errno, FileId};
use futago_wire::{Reply, Request};

impl<C: Context> Client<C> {
    /// The path in a symbolic link. Errors: `EINVAL` for another kind of node.
    pub async fn read_link(&self, id: FileId) -> Result<Bytes, Errno> {
        match self.ask_home(id, Request::ReadLink(id)).await? {
            Reply::Bytes(target) => Ok(target),
            _ => Err(Errno::EPROTO),
        }
    }
}
