//! Shares what this client writes.
//!
//! The client writes a file that others may want under an exclusive lease, so it knows that nobody
//! else changes it, and caches what it writes. When another client asks for the file, the lease
//! becomes an ordinary one, which covers the same data, and the home sends readers to this client.
//! A file that nobody else asks for costs one request.

use crate::{
    Client, Context,
    data_cache::BeforeWrite,
    join_all,
    leases::{DataVersions, RecallAnswer},
};
use alloc::vec::Vec;
use core::pin::pin;
use futago_base::{Errno, FileId, ServerId};
use futago_wire::{LeaseRecall, Request};

impl<C: Context> Client<C> {
    /// Whether others may want to read a file from this client that it writes up to an offset. Then
    /// it asks for an exclusive lease first.
    pub(crate) fn may_share_writes(&self, end: u64) -> bool {
        let is_large = end >= self.config().shared_bytes_min;
        is_large && self.context().door().is_some() && self.config().data_bytes_max > 0
    }

    /// Whether chunks that this client writes stay in its cache.
    pub(crate) fn caches_chunks(&self, id: FileId) -> bool {
        self.context().door().is_some() && self.is_exclusive(id)
    }

    /// The versions before a write, if chunks that it writes stay in the cache.
    pub(crate) fn versions_to_cache(
        &self,
        id: FileId,
        before: Option<&BeforeWrite>,
    ) -> Option<DataVersions> {
        let versions = before.map(|before| before.versions);
        versions.filter(|_| self.caches_chunks(id))
    }

    /// The answer to a recall.
    pub(crate) fn answer_to(&self, server: ServerId, recall: &LeaseRecall) -> RecallAnswer {
        if !self.may_be_shared(recall.lease.node) {
            return RecallAnswer::Return;
        }
        self.with_leases(|leases| leases.answer_to(server, recall))
            .unwrap_or(RecallAnswer::Return)
    }

    /// Makes recalled exclusive leases ordinary ones. Returns the recalls of those where that
    /// failed.
    pub(crate) async fn share_written(&self, recalls: Vec<LeaseRecall>) -> Vec<LeaseRecall> {
        let session = self.context().session();
        let shared = recalls.into_iter().map(|recall| async move {
            // Another session has other leases.
            let sharing = pin!(self.share_file(recall.lease.node));
            let shared = self.in_session(session, sharing).await;
            let is_left = shared.is_err() && self.context().session() == session;
            is_left.then_some(recall)
        });
        join_all(shared).await.into_iter().flatten().collect()
    }

    async fn share_file(&self, id: FileId) -> Result<(), Errno> {
        let door = self.context().door().ok_or(Errno::EIO)?;
        let home = self.home_part(id);
        self.flush(id).await;
        self.with_leases(|leases| leases.stop_writing_alone(home));
        // Writes may have been buffered meanwhile.
        self.flush(id).await;
        self.command_home(id, Request::AnnounceChanges(id)).await?;
        self.ask_home(id, Request::EndExclusive { id, door })
            .await?;
        self.with_leases(|leases| leases.shared(home));
        Ok(())
    }
}
