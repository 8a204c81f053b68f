//! The client's session.

use crate::{Client, Context};
use futago_base::Errno;

impl<C: Context> Client<C> {
    /// Shows every server that the client lives; due every quarter of the servers' lease.
    pub async fn keep_alive(&self) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    /// Leaves: every server gives up this client's registrations and locks.
    pub async fn end_session(&self) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}
