//! Changes attributes.

use crate::{Client, Context};
use futago_base::{Errno, FileId};
use futago_wire::{AttributeChange, FileState};

impl<C: Context> Client<C> {
    /// Changes attributes and returns the state after it. Errors: `ENOENT`, `EISDIR`, `EFBIG`.
    pub async fn set_attributes(
        &self,
        id: FileId,
        change: AttributeChange,
    ) -> Result<FileState, Errno> {
        Err(Errno::ENOSYS)
    }
}
