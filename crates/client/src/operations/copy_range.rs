//! Copies within and between files.

use crate::{Client, Context};
use futago_base::{Errno, FileId};

impl<C: Context> Client<C> {
    /// Copies up to `length` bytes and returns how many; fewer only at the end of the source.
    /// Errors: `EINVAL` if the ranges overlap within one file.
    pub async fn copy_range(
        &self,
        source: FileId,
        source_offset: u64,
        target: FileId,
        target_offset: u64,
        length: u64,
    ) -> Result<u64, Errno> {
        Err(Errno::ENOSYS)
    }
}
