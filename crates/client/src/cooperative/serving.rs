//! Answers other clients from the cache.

use crate::{Client, Config, Context, first_of, leases::DataVersions};
use alloc::vec::Vec;
use core::{ops::Range, pin::pin};
use futago_base::{Duration, FileId, Payload};
#[cfg(doc)]
use futago_wire::CacheReply;
use futago_wire::{CacheRequest, cache::PIECE_BYTES};

const BLOCK: u64 = Config::DATA_BLOCK_BYTES as u64;

impl<C: Context> Client<C> {
    /// Answers a request of another client. [`CacheReply::of`] the data goes with it.
    pub async fn serve_cache(&self, request: CacheRequest) -> Payload {
        let CacheRequest::Read {
            file,
            offset,
            length,
            wait,
        } = request;
        let range = offset..offset.saturating_add(length.into());
        let is_valid = offset.is_multiple_of(BLOCK) && u64::from(length) <= PIECE_BYTES;
        let data = if is_valid {
            self.copy(file, range, wait).await
        } else {
            Payload::empty()
        };
        self.with_sharing(|sharing| {
            sharing.counters.asked += 1;
            sharing.counters.served += u64::from(!data.is_empty());
            sharing.counters.bytes_served += data.len() as u64;
        });
        data
    }

    /// The first bytes of a range that are in the cache. It waits for what this client is about to
    /// read itself.
    async fn copy(&self, id: FileId, range: Range<u64>, wait: Duration) -> Payload {
        let mut silence = pin!(self.context().sleep(wait));
        loop {
            let Some(versions) = self.shared_versions(id) else {
                return Payload::empty();
            };
            let (data, is_whole) = self.cached_start(id, versions, &range);
            if is_whole || !self.is_coming(id, versions, &range) {
                return data;
            }
            let fetched = pin!(self.fetches.one_ends());
            if first_of(fetched, silence.as_mut()).await.is_none() {
                return match self.shared_versions(id) == Some(versions) {
                    true => data,
                    false => Payload::empty(),
                };
            }
        }
    }

    /// The versions of valid cached data that others may read.
    fn shared_versions(&self, id: FileId) -> Option<DataVersions> {
        self.data_versions(id).filter(|_| !self.is_dirty(id))
    }

    /// Whether this client is fetching the range, or has planned to.
    fn is_coming(&self, id: FileId, versions: DataVersions, range: &Range<u64>) -> bool {
        let piece = range.start / PIECE_BYTES;
        self.fetches.are_under_way(id, range)
            || self.with_sharing(|sharing| {
                let plan = sharing.plans.get(id);
                let plan = plan.filter(|plan| plan.is_of(versions.now));
                plan.is_some_and(|plan| plan.pieces().contains(&piece))
            })
    }

    /// The first cached bytes of a range, and whether that is all of it before the end of the file.
    fn cached_start(
        &self,
        id: FileId,
        versions: DataVersions,
        range: &Range<u64>,
    ) -> (Payload, bool) {
        let size = self
            .clean_state(id)
            .map_or(0, |state| state.attributes.size);
        let end = range.end.min(size);
        let memory = self.memory.borrow();
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < end {
            let block = memory.data.get((id, at / BLOCK));
            let block = block.filter(|block| versions.cover(block.version));
            let wanted = (end - at).min(BLOCK);
            let Some(block) = block.filter(|block| block.data.len() as u64 >= wanted) else {
                break;
            };
            let data = block.data.slice(0, wanted as usize);
            pieces.push(((at - range.start) as usize, data));
            at += wanted;
        }
        let length = at.saturating_sub(range.start) as usize;
        (Payload::gather(length, &pieces), at >= end)
    }
}
