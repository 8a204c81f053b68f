//! Answers other clients from the cache.

use super::fetches::Outlook;
use crate::{Client, Config, Context, first_of, leases::DataVersions};
use alloc::vec::Vec;
use core::{ops::Range, pin::pin};
use futago_base::{FileId, Payload};
use futago_wire::{CacheReply, CacheRequest, cache::PIECE_BYTES};

const BLOCK: u64 = Config::DATA_BLOCK_BYTES as u64;
/// The answer to a request of another client.
#[derive(Debug)]
pub enum Served {
    /// Data from the cache, of which sums are still to be made.
    Copy(Payload),
    /// A reply without data.
    Reply(CacheReply),
}

impl Served {
    /// The reply and its data. It takes a while, and needs no client.
    pub fn into_message(self) -> (CacheReply, Payload) {
        match self {
            Self::Copy(data) => (CacheReply::of(&data), data),
            Self::Reply(reply) => (reply, Payload::empty()),
        }
    }
}

impl<C: Context> Client<C> {
    /// Answers a request of another client. While that takes, the runtime sends
    /// [`CacheReply::Coming`] now and then, so that the other client goes on to wait.
    pub async fn serve_cache(&self, request: CacheRequest) -> Served {
        Served::Reply(match request {
            CacheRequest::Read {
                file,
                offset,
                length,
                depth,
            } => return Served::Copy(self.serve_read(file, offset, length, depth).await),
            CacheRequest::Load {
                file,
                offset,
                length,
            } => {
                let range = offset..offset.saturating_add(length);
                CacheReply::Loaded(self.load(file, range).await)
            }
            CacheRequest::Keep {
                from,
                file,
                offset,
                length,
                chances,
            } => {
                let range = offset..offset.saturating_add(length);
                CacheReply::Loaded(self.keep(from, file, range, chances).await)
            }
            CacheRequest::Pin { file, is_pinned } => {
                self.memory.borrow_mut().data.pin(file, is_pinned);
                CacheReply::Done
            }
            CacheRequest::GetCounters => CacheReply::Counters(self.sharing_counters()),
        })
    }

    async fn serve_read(&self, file: FileId, offset: u64, length: u32, depth: u8) -> Payload {
        let range = offset..offset.saturating_add(length.into());
        let is_valid = offset.is_multiple_of(BLOCK) && u64::from(length) <= PIECE_BYTES;
        let data = if is_valid {
            self.copy(file, range, depth).await
        } else {
            Payload::empty()
        };
        self.note_copied(file, offset, data.len() as u64);
        self.with_sharing(|sharing| {
            sharing.counters.asked += 1;
            sharing.counters.served += u64::from(!data.is_empty());
            sharing.counters.bytes_served += data.len() as u64;
        });
        data
    }

    /// The first bytes of a range that are in the cache. It waits for what this client is about to
    /// read itself, for a reader of this depth.
    async fn copy(&self, id: FileId, range: Range<u64>, depth: u8) -> Payload {
        // A program may have stopped to read.
        let mut soon = pin!(self.context().sleep(self.config().cache_timeout));
        loop {
            let Some(versions) = self.shared_versions(id) else {
                return Payload::empty();
            };
            let (data, is_whole) = self.cached_start(id, versions, &range);
            let missing = range.start + data.len() as u64;
            let fetched = pin!(self.fetches.one_ends());
            let is_over = match self.outlook(id, versions, missing, depth) {
                _ if is_whole => true,
                Outlook::Hopeless => true,
                Outlook::Unknown => first_of(fetched, soon.as_mut()).await.is_none(),
                Outlook::Certain => {
                    fetched.await;
                    false
                }
            };
            if is_over {
                // Meanwhile the data may have changed.
                let is_valid = self.shared_versions(id) == Some(versions);
                return if is_valid { data } else { Payload::empty() };
            }
        }
    }

    /// The outlook for a reader of this depth at an offset.
    fn outlook(&self, id: FileId, versions: DataVersions, offset: u64, depth: u8) -> Outlook {
        match self.is_planned(id, versions, offset) {
            true => Outlook::Unknown.max(self.fetches.outlook(id, offset, depth)),
            false => self.fetches.outlook(id, offset, depth),
        }
    }

    /// The versions of valid cached data that others may read.
    fn shared_versions(&self, id: FileId) -> Option<DataVersions> {
        self.data_versions(id).filter(|_| !self.is_dirty(id))
    }

    /// Whether this client has planned to read from an offset on, and has not got there yet.
    fn is_planned(&self, id: FileId, versions: DataVersions, offset: u64) -> bool {
        self.with_sharing(|sharing| {
            let plan = sharing.plans.get(id);
            let plan = plan.filter(|plan| plan.is_of(versions.now));
            plan.is_some_and(|plan| plan.is_ahead(offset))
        })
    }

    /// How much of a range is cached and valid, in bytes.
    pub(super) fn cached_bytes(&self, id: FileId, range: &Range<u64>) -> u64 {
        let Some(versions) = self.shared_versions(id) else {
            return 0;
        };
        let memory = self.memory.borrow();
        let blocks = (range.start / BLOCK..range.end.div_ceil(BLOCK)).filter_map(|number| {
            let block = memory.data.get((id, number))?;
            let end = number * BLOCK + block.data.len() as u64;
            let within = end.min(range.end) - range.start.max(number * BLOCK).min(end);
            versions.cover(block.version).then_some(within)
        });
        blocks.sum()
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
