//! Writes file data.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Payload};

impl<C: Context> Client<C> {
    /// Writes `data` at `offset` and returns the file's size after it. `kill_privileges` takes the
    /// set-user-id bits away, as writes of ordinary users do. Errors: `EFBIG`, `ENOSPC`.
    pub async fn write(
        &self,
        id: FileId,
        offset: u64,
        data: Payload,
        kill_privileges: bool,
    ) -> Result<u64, Errno> {
        Err(Errno::ENOSYS)
    }
}
