//! Passes blocks to other clients' caches instead of evicting them.
//!
//! A block that came from a server, and that no other client has asked for, is probably the only
//! cached copy. Without it, the next reader waits for a disk. So it gets *n* more rounds through
//! caches before it is gone, each at another client that is drawn: the N-chance forwarding of
//! Dahlin, Wang, Anderson and Patterson (*Cooperative Caching*, OSDI 1994). Blocks of which there
//! are copies are evicted at once. With *n* = 0 all are, which is their greedy forwarding.
//!
//! The other client reads the blocks from here, under a lease as every reader. They wait for that
//! in a part of the cache.

use super::{queue::Queue, reading::Part};
use crate::{Client, Config, Context, block_cache::BlockKey};
use alloc::{sync::Arc, vec::Vec};
use atomic_refcell::AtomicRefCell;
use core::ops::Range;
use futago_base::{Duration, Errno, FileId, Time};
use futago_wire::{CacheReply, CacheRequest, Holder, Request, cache::PIECE_BYTES};
use xxhash_rust::xxh3::xxh3_64;

const BLOCK: u64 = Config::DATA_BLOCK_BYTES as u64;
const BLOCKS_OF_PIECE: u64 = PIECE_BYTES / BLOCK;
/// The clients that share their caches are asked for again after this time.
const PEERS_KNOWN: Duration = Duration::from_secs(5);

/// Consecutive blocks of a piece of a file that pass to another client.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaving {
    file: FileId,
    /// The numbers of the blocks.
    blocks: Range<u64>,
    /// How often they may pass on, with this time.
    chances: u8,
}

/// The blocks that pass to other clients, and these clients.
#[derive(Debug)]
pub struct Forwarding {
    leaving: Queue<Leaving>,
    /// The clients that share their caches, and since when they are known.
    peers: AtomicRefCell<(Time, Vec<Arc<Holder>>)>,
}

impl Forwarding {
    /// Nothing leaves.
    pub const fn new() -> Self {
        Self {
            leaving: Queue::new(),
            peers: AtomicRefCell::new((Time(0), Vec::new())),
        }
    }
}

impl<C: Context> Client<C> {
    /// Waits until blocks are to pass to another client. The runtime has [`Client::forward`] do it.
    pub async fn wanted_forwarding(&self) -> Leaving {
        self.forwarding.leaving.take().await
    }

    /// Has another client cache blocks, and evicts them here.
    pub async fn forward(&self, leaving: Leaving) {
        let Leaving {
            file,
            blocks,
            chances,
        } = leaving;
        let peer = self.peer_for(file, &blocks, chances).await;
        let blocks = self.last_cached(file, blocks);
        let range = blocks.start * BLOCK..blocks.end * BLOCK;
        let bytes = self.cached_bytes(file, &range);
        let (Some(peer), Some(from)) = (peer.filter(|_| bytes > 0), self.as_holder()) else {
            return;
        };
        let request = CacheRequest::Keep {
            from,
            file,
            offset: range.start,
            length: range.end - range.start,
            chances: chances.saturating_sub(1),
        };
        match self.ask_holder(&peer, request).await {
            Some((CacheReply::Loaded(Ok(loaded)), _)) if loaded >= bytes => {
                self.with_sharing(|sharing| sharing.counters.bytes_forwarded += bytes);
                blocks.for_each(|number| self.memory.borrow_mut().data.remove((file, number)));
                self.forget_copies(file, &range).await;
            }
            Some(_) => {}
            None => self.rest_client(peer.session),
        }
    }

    /// The blocks that are still cached: the first ones may be gone.
    fn last_cached(&self, file: FileId, blocks: Range<u64>) -> Range<u64> {
        let cached = &self.memory.borrow().data;
        let is_gone = |number: &u64| cached.get((file, *number)).is_none();
        let gone = blocks.clone().take_while(is_gone).count() as u64;
        blocks.start + gone..blocks.end
    }

    /// Has the home of a file name others for a range. A failure does not matter: who asks this
    /// client for it hears that it has nothing.
    async fn forget_copies(&self, id: FileId, range: &Range<u64>) {
        let pieces = pieces_of(range);
        let request = Request::ForgetCopies {
            id,
            first: pieces.start,
            pieces: (pieces.end - pieces.start) as u32,
        };
        self.ask(self.map().home(id), request).await.ok();
    }

    /// A client that shares its cache, drawn for a piece: a reader asks one client for it, so all
    /// blocks of the piece pass to the same one.
    async fn peer_for(
        &self,
        file: FileId,
        blocks: &Range<u64>,
        chances: u8,
    ) -> Option<Arc<Holder>> {
        let now = self.context().now();
        let (since, _) = *self.forwarding.peers.borrow();
        if since == Time(0) || now.since(since) > PEERS_KNOWN {
            let sharers = self.sharers().await.ok()?;
            let own = self.context().session();
            let others = sharers.into_iter().filter(|it| it.session != own);
            *self.forwarding.peers.borrow_mut() = (now, others.map(Arc::new).collect());
        }
        let (_, peers) = &*self.forwarding.peers.borrow();
        let draw = [file.0, blocks.start / BLOCKS_OF_PIECE, chances.into()];
        let draw = xxh3_64(&draw.map(u64::to_le_bytes).concat());
        let peer = peers.get((draw % peers.len().max(1) as u64) as usize)?;
        (!self.is_silent(peer.session)).then(|| Arc::clone(peer))
    }

    /// Notes blocks that are to pass to other clients.
    pub(crate) fn note_leaving(&self, blocks: &[(BlockKey, u8)]) {
        let follows = |((file, number), chances): &(BlockKey, u8), next: &(BlockKey, u8)| {
            let following = number + 1;
            !following.is_multiple_of(BLOCKS_OF_PIECE) && *next == ((*file, following), *chances)
        };
        for run in blocks.chunk_by(follows) {
            let ((file, first), chances) = run[0];
            self.forwarding.leaving.put(Leaving {
                file,
                blocks: first..first + run.len() as u64,
                chances,
            });
        }
    }

    fn as_holder(&self) -> Option<Holder> {
        let session = self.context().session();
        let door = self.context().door()?;
        Some(Holder { session, door })
    }

    /// Reads blocks that another client evicts into the cache, as far as it has them. Returns how
    /// many bytes of them are there. Errors: those of asking for a lease.
    pub(super) async fn keep(
        &self,
        from: Holder,
        file: FileId,
        range: Range<u64>,
        chances: u8,
    ) -> Result<u64, Errno> {
        self.lease_data(file).await?;
        let size = self.clean_state(file).map_or(0, |it| it.attributes.size);
        let range = range.start..range.end.min(size);
        let versions = self.data_versions(file).filter(|_| !range.is_empty());
        let Some(versions) = versions else {
            return Ok(0);
        };
        // The home sends readers here from now on.
        self.find_copies(file, &pieces_of(&range), &[]).await;
        let from = Arc::new(from);
        let chances = chances.min(self.config().chances);
        for piece in pieces_of(&range) {
            let (start, end) = (piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
            let range = range.start.max(start)..range.end.min(end);
            let source = Some((Arc::clone(&from), 0));
            let part = Part { range, source };
            let data = self.read_copy(file, versions, &part).await;
            self.cache_valid(file, versions, part.range.start, &data, chances);
        }
        Ok(self.cached_bytes(file, &range))
    }

    /// Another client has a copy of blocks.
    pub(super) fn note_copied(&self, file: FileId, offset: u64, bytes: u64) {
        if self.config().chances > 0 {
            self.set_chances(file, offset..offset + bytes, 0);
        }
    }

    fn set_chances(&self, file: FileId, range: Range<u64>, chances: u8) {
        let cached = &mut self.memory.borrow_mut().data;
        for number in range.start / BLOCK..range.end.div_ceil(BLOCK) {
            cached.set_chances((file, number), chances);
        }
    }

    /// How often blocks of a file that no other client has may pass to another one.
    pub(crate) fn chances(&self, file: FileId) -> u8 {
        match self.config().chances {
            0 => 0,
            chances if self.may_be_shared(file) => chances,
            _ => 0,
        }
    }
}

/// The numbers of the pieces that a range has parts of.
const fn pieces_of(range: &Range<u64>) -> Range<u64> {
    range.start / PIECE_BYTES..range.end.div_ceil(PIECE_BYTES)
}
