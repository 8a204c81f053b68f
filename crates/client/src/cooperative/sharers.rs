//! The clients that share their caches: how they make themselves known, and what they are asked.

use crate::{Client, Context};
use alloc::vec::Vec;
use core::ops::Range;
use futago_base::{Duration, Errno, FileId, SessionId};
use futago_wire::{Holder, Reply, Request, cache::PIECE_BYTES};

/// How long a file that is being changed may keep a client from loading it.
const LEASE_WAIT: Duration = Duration::from_secs(3);

impl<C: Context> Client<C> {
    /// Makes this client known as one that shares its cache, if it does. A failure does not matter:
    /// the next keep-alive tries again, also after the server has forgotten it.
    pub async fn announce_cache(&self) {
        if let Some(door) = self.context().door() {
            let home = self.map().home(FileId::ROOT);
            self.ask(home, Request::Share(door)).await.ok();
        }
    }

    /// The clients that share their caches. Errors: those of asking a server.
    pub async fn sharers(&self) -> Result<Vec<Holder>, Errno> {
        let (mut all, mut after) = (Vec::new(), SessionId(0));
        loop {
            let request = Request::ListSharers { after };
            match self.ask_home(FileId::ROOT, request).await? {
                Reply::Sharers { sharers, complete } => {
                    after = sharers.last().map_or(after, |last| last.session);
                    all.extend(sharers);
                    if complete {
                        return Ok(all);
                    }
                }
                _ => return Err(Errno::EPROTO),
            }
        }
    }

    /// Waits a while for a lease that covers the data of a file, which is refused after a recall.
    async fn await_data_lease(&self, id: FileId) -> Result<(), Errno> {
        let deadline = self.context().now() + LEASE_WAIT;
        let mut pauses = 0;
        while self.data_versions(id).is_none() && self.context().now() < deadline {
            self.lease_data(id).await?;
            if self.data_versions(id).is_none() {
                self.pause(pauses).await;
                pauses += 1;
            }
        }
        Ok(())
    }

    /// Reads a range of a file into the cache. Returns how many bytes of it are there in the end:
    /// less than all if the cache is too small. Errors: those of reading.
    pub(super) async fn load(&self, id: FileId, range: Range<u64>) -> Result<u64, Errno> {
        self.await_data_lease(id).await?;
        let mut at = range.start;
        while at < range.end {
            let length = (range.end - at).min(PIECE_BYTES);
            let data = self.read(id, at, length as u32).await?;
            if data.is_empty() {
                break;
            }
            at += data.len() as u64;
        }
        Ok(self.cached_bytes(id, &(range.start..at)))
    }
}
