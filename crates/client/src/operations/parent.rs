//! Asks for the parent directory.

use crate::{Client, Context};
use futago_base::{Errno, FileId};
use futago_wire::Failure;

impl<C: Context> Client<C> {
    /// The parent of a directory; the root is its own parent. Errors: `ESTALE` if it does not
    /// exist, `ENOTDIR`.
    pub async fn parent(&self, directory: FileId) -> Result<FileId, Errno> {
        self.persist(|| self.parent_at_home(directory)).await
    }

    pub(crate) async fn parent_at_home(&self, directory: FileId) -> Result<FileId, Failure> {
        match self.state_at_home(directory).await?.directory {
            Some(state) => Ok(state.parent),
            None => Err(Errno::ENOTDIR.into()),
        }
    }
}
