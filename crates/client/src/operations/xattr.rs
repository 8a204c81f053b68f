//! Extended attributes.

use crate::{Client, Context, XattrMode};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{Errno, FileId, Name};

impl<C: Context> Client<C> {
    /// The value of an extended attribute. Errors: `ENODATA`.
    pub async fn get_xattr(&self, id: FileId, name: &Name) -> Result<Bytes, Errno> {
        Err(Errno::ENOSYS)
    }

    /// Sets an extended attribute. Errors: `EEXIST`, `ENODATA` as `mode` wants it, `ENOSPC`.
    pub async fn set_xattr(
        &self,
        id: FileId,
        name: &Name,
        value: Bytes,
        mode: XattrMode,
    ) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    /// The names of a file's extended attributes.
    pub async fn list_xattrs(&self, id: FileId) -> Result<Vec<Name>, Errno> {
        Err(Errno::ENOSYS)
    }

    /// Removes an extended attribute. Errors: `ENODATA`.
    pub async fn remove_xattr(&self, id: FileId, name: &Name) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
