//! Asks for the directory above.

use crate::{Client, Context};
use futago_base::{Errno, FileId};

impl<C: Context> Client<C> {
    /// The directory above a directory; the root's is itself. Errors: `ENOENT`, `ENOTDIR`.
    pub async fn parent(&self, directory: FileId) -> Result<FileId, Errno> {
        Err(Errno::ENOSYS)
    }
}
