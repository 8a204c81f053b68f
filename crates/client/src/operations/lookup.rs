//! Finds a name.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Name};
use futago_wire::FileState;

impl<C: Context> Client<C> {
    /// The state of the file that `name` leads to; a directory's attributes are folded over all its
    /// buckets. Errors: `ENOENT`, `ENOTDIR`.
    pub async fn lookup(&self, directory: FileId, name: &Name) -> Result<FileState, Errno> {
        Err(Errno::ENOSYS)
    }
}
