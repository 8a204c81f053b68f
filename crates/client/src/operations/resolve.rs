//! Path resolution.

use crate::{Client, Context, Place};
use futago_base::Errno;
use futago_wire::FileState;

impl<C: Context> Client<C> {
    /// The file that a path from the root leads to; a symbolic link at its end is followed if
    /// `follow_last` is set or the path ends in `/`. Errors: `ENOENT`, `ENOTDIR`, `ELOOP` after 40
    /// symbolic links, `ENAMETOOLONG`.
    pub async fn resolve(&self, path: &[u8], follow_last: bool) -> Result<FileState, Errno> {
        Err(Errno::ENOSYS)
    }

    /// The directory and the name that a path from the root ends in, whether the name exists or not.
    /// Errors: as [`Client::resolve`]; `EEXIST` if the path ends in the root, `.` or `..`.
    pub async fn locate(&self, path: &[u8]) -> Result<Place, Errno> {
        Err(Errno::ENOSYS)
    }
}
