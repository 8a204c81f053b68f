//! Extended attributes.

use crate::{Client, Context, XattrMode};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{Errno, FileId, XattrName};
use futago_wire::{Reply, Request};

impl<C: Context> Client<C> {
    /// The value of an extended attribute. Errors: `ENODATA`.
    pub async fn get_xattr(&self, id: FileId, name: &XattrName) -> Result<Bytes, Errno> {
        if *name == XattrName::of_chunk_size() {
            return self.chunk_size(id).await;
        }
        if self.lacks_xattrs(id) {
            return Err(Errno::ENODATA);
        }
        if *name == XattrName::of_capabilities() {
            // A buffered write removes the capabilities.
            self.flush(id).await;
        }
        let name = name.clone();
        match self.ask_home(id, Request::GetXattr { id, name }).await? {
            Reply::Bytes(value) => Ok(value),
            _ => Err(Errno::EPROTO),
        }
    }

    /// Sets an extended attribute. Errors: `EEXIST`, `ENODATA` as `mode` requires, `ENOSPC`.
    pub async fn set_xattr(
        &self,
        id: FileId,
        name: &XattrName,
        value: Bytes,
        mode: XattrMode,
    ) -> Result<(), Errno> {
        if *name == XattrName::of_chunk_size() {
            return self.set_chunk_size(id, &value, mode).await;
        }
        // An earlier buffered write removes older capabilities, but not those that are set now.
        self.flush(id).await;
        let request = Request::SetXattr {
            id,
            name: name.clone(),
            value,
            create: mode == XattrMode::Create,
            replace: mode == XattrMode::Replace,
        };
        self.command_home(id, request).await
    }

    /// The names of the extended attributes of a file.
    pub async fn list_xattrs(&self, id: FileId) -> Result<Vec<XattrName>, Errno> {
        if self.lacks_xattrs(id) {
            return Ok(Vec::new());
        }
        match self.ask_home(id, Request::ListXattrs(id)).await? {
            Reply::Names(names) => Ok(names),
            _ => Err(Errno::EPROTO),
        }
    }

    /// Removes an extended attribute. Errors: `ENODATA`.
    pub async fn remove_xattr(&self, id: FileId, name: &XattrName) -> Result<(), Errno> {
        if *name == XattrName::of_chunk_size() {
            self.chunk_size(id).await?;
            return self.set_chunk_size(id, b"0", XattrMode::Replace).await;
        }
        let name = name.clone();
        self.command_home(id, Request::RemoveXattr { id, name })
            .await
    }
}
