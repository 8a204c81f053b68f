//! Allocates, makes holes, zeroes.

use crate::{AllocateMode, Client, Context};
use futago_base::{Errno, FileId};

impl<C: Context> Client<C> {
    /// What `fallocate` does, by its flags. Errors: `EOPNOTSUPP` for other flags than those of
    /// [`AllocateMode`], `EINVAL`, `EFBIG`.
    pub async fn allocate(
        &self,
        id: FileId,
        mode: AllocateMode,
        offset: u64,
        length: u64,
    ) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
