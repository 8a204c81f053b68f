//! Asks for the used space of the cluster.

use crate::{Client, Context, client::UNEXPECTED, join_all};
use futago_base::{Errno, ServerId, Space};
use futago_wire::{Failure, Reply, Request};

impl<C: Context> Client<C> {
    /// The sum over all servers that can be reached. Errors: `EIO` if none can.
    pub async fn space(&self) -> Result<Space, Errno> {
        let asked = self.map().servers().map(|server| self.space_of(server));
        let mut sum = None;
        for space in join_all(asked).await.into_iter().flatten() {
            let total = sum.get_or_insert(Space::default());
            total.limit_bytes = total.limit_bytes.saturating_add(space.limit_bytes);
            total.used_bytes = total.used_bytes.saturating_add(space.used_bytes);
            total.files = total.files.saturating_add(space.files);
        }
        sum.ok_or(Errno::EIO)
    }

    async fn space_of(&self, server: ServerId) -> Result<Space, Failure> {
        match self.ask(server, Request::GetSpace).await? {
            Reply::Space(space) => Ok(space),
            _ => Err(UNEXPECTED),
        }
    }
}
