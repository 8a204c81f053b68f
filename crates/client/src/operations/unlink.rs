//! Removes a name that is not a directory's.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Name};

impl<C: Context> Client<C> {
    /// Removes a name. Errors: `ENOENT`, `EISDIR`.
    pub async fn unlink(&self, directory: FileId, name: &Name) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
