//! Reads file data.

use crate::{Client, Context};
use futago_base::{Errno, FileId, Payload};

impl<C: Context> Client<C> {
    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    pub async fn read(&self, id: FileId, offset: u64, length: u32) -> Result<Payload, Errno> {
        Err(Errno::ENOSYS)
    }
}
