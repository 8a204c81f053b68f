//! Renames.

use crate::{Client, Context, RenameFlags};
use futago_base::{Errno, FileId, Name};

impl<C: Context> Client<C> {
    /// Moves `name` in `directory` to `new_name` in `new_directory`, as `renameat2` does.
    /// Errors: `ENOENT`, `EEXIST`, `EISDIR`, `ENOTDIR`, `ENOTEMPTY`, `EINVAL` for a directory that
    /// would move below itself.
    pub async fn rename(
        &self,
        directory: FileId,
        name: &Name,
        new_directory: FileId,
        new_name: &Name,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
