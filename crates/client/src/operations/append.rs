//! Writes at the end of a file.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Payload};

impl<C: Context> Client<C> {
    /// Writes `data` at the end of the file, wherever that is when the request arrives, and returns
    /// the offset that it got. Errors: as [`Client::write`].
    pub async fn append(
        &self,
        id: FileId,
        data: Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        Err(Errno::ENOSYS)
    }
}
