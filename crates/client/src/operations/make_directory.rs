//! Makes a directory.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Name};
use futago_wire::FileState;

impl<C: Context> Client<C> {
    /// Makes an empty directory. Errors: `EEXIST`, `ENOENT`, `ENOSPC`.
    pub async fn make_directory(
        &self,
        directory: FileId,
        name: &Name,
        mode: u16,
        uid: u32,
        gid: u32,
    ) -> Result<FileState, Errno> {
        Err(Errno::ENOSYS)
    }
}
