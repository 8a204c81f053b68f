//! Lists a directory.

use crate::{Client, Context};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, NameHash};
use futago_wire::ListedEntry;

impl<C: Context> Client<C> {
    /// Lists entries whose names have a larger hash than `after`, in the order of hashes: about
    /// `entries_max` of them, none only at the end. Names of one hash are never separated. Start
    /// with `NameHash(0)`. With `attributes`, fills in the attributes of every entry whose file
    /// still exists. Errors: `ENOENT`, `ENOTDIR`.
    pub async fn read_directory(
        &self,
        directory: FileId,
        after: NameHash,
        entries_max: u32,
        attributes: bool,
    ) -> Result<Vec<ListedEntry>, Errno> {
        Err(Errno::ENOSYS)
    }
}
