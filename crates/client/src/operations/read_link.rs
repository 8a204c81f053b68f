//! Reads a symbolic link.

use crate::{Client, Context};
use bytes::Bytes;
use futago_base::{Errno, FileId};

impl<C: Context> Client<C> {
    /// The path that a symbolic link holds. Errors: `EINVAL` for another kind of node.
    pub async fn read_link(&self, id: FileId) -> Result<Bytes, Errno> {
        Err(Errno::ENOSYS)
    }
}
