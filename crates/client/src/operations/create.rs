//! Makes a node other than a directory.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Name, Payload};
use futago_wire::{FileState, NewNode};

impl<C: Context> Client<C> {
    /// Makes `node`, with `data` as its first data. Returns its state and whether it is new; without
    /// `exclusive` an existing file is left as it is. With `open`, a regular file is registered as
    /// open by this session, as [`Client::open`] does. Errors: `EEXIST`, `ENOENT`, `ENOSPC`.
    pub async fn create(
        &self,
        directory: FileId,
        name: &Name,
        node: NewNode,
        exclusive: bool,
        open: bool,
        data: Payload,
    ) -> Result<(FileState, bool), Errno> {
        Err(Errno::ENOSYS)
    }
}
