//! Finds data and holes.

use crate::{Client, Context};
use futago_base::{Errno, FileId};

impl<C: Context> Client<C> {
    /// The first offset at or after `offset` that holds data. Errors: `ENXIO` beyond the last.
    pub async fn seek_data(&self, id: FileId, offset: u64) -> Result<u64, Errno> {
        Err(Errno::ENXIO)
    }

    /// The first hole at or after `offset`; the end of the file is one. Errors: `ENXIO` at or beyond
    /// the end.
    pub async fn seek_hole(&self, id: FileId, offset: u64) -> Result<u64, Errno> {
        Err(Errno::ENOSYS)
    }
}
