//! Gives a file another name.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Name};
use futago_wire::FileState;

impl<C: Context> Client<C> {
    /// Adds a name for the file `id`. Errors: `EEXIST`, `ENOENT`, `EPERM` for a directory, `EMLINK`.
    pub async fn link(
        &self,
        id: FileId,
        directory: FileId,
        name: &Name,
    ) -> Result<FileState, Errno> {
        Err(Errno::ENOSYS)
    }
}
