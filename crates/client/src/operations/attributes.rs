//! Asks for attributes.

use crate::{Client, Context};
use futago_base::{Errno, FileId};
use futago_wire::FileState;

impl<C: Context> Client<C> {
    /// The state of a file; a directory's attributes are folded over all its buckets.
    /// Errors: `ENOENT`.
    pub async fn attributes(&self, id: FileId) -> Result<FileState, Errno> {
        Err(Errno::ENOSYS)
    }
}
