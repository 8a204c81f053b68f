//! Removes an empty directory.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Name};

impl<C: Context> Client<C> {
    /// Removes an empty directory. Errors: `ENOENT`, `ENOTDIR`, `ENOTEMPTY`.
    pub async fn remove_directory(&self, directory: FileId, name: &Name) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
