//! Asks how full the cluster is.

use crate::{Client, Context};
use futago_base::{Errno, Space};

impl<C: Context> Client<C> {
    /// The sum over all servers.
    pub async fn space(&self) -> Result<Space, Errno> {
        Err(Errno::ENOSYS)
    }
}
