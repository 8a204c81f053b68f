//! Opens and closes files.

use crate::{Client, Context};
use futago_base::{Errno, FileId};
use futago_wire::FileState;

impl<C: Context> Client<C> {
    /// Registers the file as open: it lives until the last [`Client::close`], whatever happens to
    /// its names. Errors: `ENOENT`.
    pub async fn open(&self, id: FileId) -> Result<FileState, Errno> {
        Err(Errno::ENOSYS)
    }

    /// Takes one registration back.
    pub async fn close(&self, id: FileId) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
