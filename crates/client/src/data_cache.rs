//! Cached file data, valid while leases cover it.

use crate::{
    Client, Config, Context,
    block_cache::Block,
    layout::Piece,
    leases::{Before, DataVersions, Leases},
};
use alloc::vec::Vec;
use core::ops::Range;
use futago_base::{Errno, FileId, Payload};
use futago_wire::FileState;

const BLOCK_BYTES: u64 = Config::DATA_BLOCK_BYTES as u64;
/// The most blocks of one sequential read-ahead.
const READ_AHEAD_BLOCKS: u64 = 16;
/// How many blocks are read ahead for each cached block before them.
const READ_AHEAD_FACTOR: u64 = 4;
/// A block is rebuilt after a write only if the write makes up at least this part of it. Otherwise
/// the copy would cost more than the write.
const REBUILD_MIN_PART: usize = 4;

/// The state of a file before the client wrote to it.
pub struct BeforeWrite {
    pub versions: DataVersions,
    size: u64,
}

impl<C: Context> Client<C> {
    /// The versions of valid cached data of a file; `None` if no data may be cached.
    pub(crate) fn data_versions(&self, id: FileId) -> Option<DataVersions> {
        let (home, now) = (self.home_part(id), self.context().now());
        self.with_leases(|leases| leases.data_versions(home, now))?
    }

    async fn versions_for_reading(&self, id: FileId) -> Result<Option<DataVersions>, Errno> {
        if self.config().data_bytes_max == 0 {
            return Ok(None);
        }
        let home = self.home_part(id);
        let is_again = self.with_leases(|leases| leases.reads(home)) == Some(true);
        // Data that others may want to copy is cached from the first read on.
        if is_again || self.may_be_shared(id) {
            self.lease_data(id).await?;
        }
        Ok(self.data_versions(id))
    }

    /// Reads from the cache if the whole range is there. Otherwise it reads whole blocks if they
    /// are worth caching.
    pub(crate) async fn read_cached(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        let end = offset.saturating_add(length.into());
        let Some(versions) = self.versions_for_reading(id).await? else {
            return self.read_now(id, offset, length).await;
        };
        self.look_ahead(id, versions, &(offset..end));
        self.join_fetches(id, versions, offset..end).await;
        if let Some(data) = self.cached(id, versions, offset, end) {
            return Ok(data);
        }
        let blocks = self.worth_reading(id, versions, offset..end);
        let from = blocks.as_ref().map_or(offset, |blocks| blocks.start);
        let data = match blocks {
            Some(blocks) => self.read_blocks(id, versions, blocks).await?,
            None => self.read_now(id, offset, length).await?,
        };
        if let Some(hint) = self.memory.borrow_mut().files.get_mut(id) {
            hint.read_end = end;
        }
        let within = |at: u64| (at - from).min(data.len() as u64) as usize;
        Ok(data.slice(within(offset), within(end)))
    }

    /// Waits for blocks of a range that another task is just reading: a kernel asks for what comes
    /// next before it has the answer.
    async fn join_fetches(&self, id: FileId, versions: DataVersions, range: Range<u64>) {
        let missing = || self.first_missing(id, versions, &range);
        while let Some(at) = missing()
            && self.fetches.are_under_way(id, at.max(range.start))
            && self.data_versions(id) == Some(versions)
        {
            self.fetches.one_ends().await;
        }
    }

    /// The beginning of the first block of a range that is not cached.
    fn first_missing(&self, id: FileId, versions: DataVersions, range: &Range<u64>) -> Option<u64> {
        let from = range.start - range.start % BLOCK_BYTES;
        let mut blocks = (from..range.end).step_by(BLOCK_BYTES as usize);
        blocks.find(|start| !self.is_cached(id, versions, start + BLOCK_BYTES))
    }

    /// The blocks that are worth reading for a range that is not fully cached, with read-ahead for
    /// a sequential reader. `None` for a random offset in a file that is larger than the cache,
    /// because its blocks would be evicted before they are read again, unless other clients may
    /// have them or want them, and most of them is needed.
    fn worth_reading(
        &self,
        id: FileId,
        versions: DataVersions,
        range: Range<u64>,
    ) -> Option<Range<u64>> {
        let from = range.start - range.start % BLOCK_BYTES;
        let needed = range.end.next_multiple_of(BLOCK_BYTES);
        let missing = self.first_missing(id, versions, &range).unwrap_or(from);
        let ahead = self.blocks_ahead(id, versions, missing) * BLOCK_BYTES;
        let stays_valid =
            ahead > 0 && missing >= range.start || self.was_read_up_to(id, range.start);
        let is_needed = range.end - range.start >= BLOCK_BYTES;
        let is_shared = is_needed && self.may_be_shared(id);
        if !stays_valid && !is_shared && !self.fits_in_cache(id) {
            return None;
        }
        let to = self.end_of_gap(id, versions, needed, missing + ahead);
        u32::try_from(to - from).is_ok().then_some(from..to)
    }

    fn was_read_up_to(&self, id: FileId, offset: u64) -> bool {
        let memory = self.memory.borrow();
        let hint = memory.files.get(id);
        hint.is_some_and(|hint| hint.read_end == offset)
    }

    /// How many blocks from a block start are worth reading ahead: the more, the longer the
    /// sequential read.
    fn blocks_ahead(&self, id: FileId, versions: DataVersions, from: u64) -> u64 {
        let most = READ_AHEAD_BLOCKS / READ_AHEAD_FACTOR;
        let ends = (1..=from / BLOCK_BYTES).rev().map(|end| end * BLOCK_BYTES);
        let cached = ends.take_while(|&end| self.is_cached(id, versions, end));
        cached.take(most as usize).count() as u64 * READ_AHEAD_FACTOR
    }

    fn fits_in_cache(&self, id: FileId) -> bool {
        let state = self.clean_state(id);
        state.is_some_and(|state| state.attributes.size <= self.config().data_bytes_max)
    }

    /// Whether the block that ends at an offset is cached.
    pub(crate) fn is_cached(&self, id: FileId, versions: DataVersions, end: u64) -> bool {
        let memory = self.memory.borrow();
        let before = (end / BLOCK_BYTES).checked_sub(1);
        let block = before.and_then(|number| memory.data.get((id, number)));
        block.is_some_and(|block| versions.cover(block.version))
    }

    /// The end of a read from a block start: the next cached block, or `limit`.
    fn end_of_gap(&self, id: FileId, versions: DataVersions, from: u64, limit: u64) -> u64 {
        let mut ends = (from..limit).step_by(BLOCK_BYTES as usize);
        let is_next_cached = |&end: &u64| self.is_cached(id, versions, end + BLOCK_BYTES);
        ends.find(is_next_cached).unwrap_or(limit.max(from))
    }

    /// The bytes of a range, or up to the end of the file, if they are cached.
    fn cached(&self, id: FileId, versions: DataVersions, offset: u64, end: u64) -> Option<Payload> {
        let size = self.leased_state(id)?.attributes.size;
        let end = end.min(size);
        if offset >= end {
            return Some(Payload::empty());
        }
        let memory = self.memory.borrow();
        let mut pieces = Vec::new();
        let mut at = offset;
        while at < end {
            let (number, from) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
            let block = memory.data.get((id, number))?;
            let to = (end - number * BLOCK_BYTES).min(BLOCK_BYTES);
            if !versions.cover(block.version) || to > block.data.len() as u64 {
                return None;
            }
            let piece = block.data.slice(from as usize, to as usize);
            pieces.push(((at - offset) as usize, piece));
            at += to - from;
        }
        Some(Payload::gather((end - offset) as usize, &pieces))
    }

    /// Caches data that begins at a block start, if the versions are still valid. Its blocks may
    /// pass to other clients so often.
    pub(crate) fn cache_valid(
        &self,
        id: FileId,
        versions: DataVersions,
        from: u64,
        data: &Payload,
        chances: u8,
    ) {
        if self.data_versions(id) != Some(versions) {
            return;
        }
        let mut rest = data.clone();
        let mut number = from / BLOCK_BYTES;
        let mut leaving = Vec::new();
        while !rest.is_empty() {
            let (data, after) = rest.split_at(rest.len().min(BLOCK_BYTES as usize));
            let version = versions.now;
            let block = Block {
                version,
                data,
                chances,
            };
            let cached = &mut self.memory.borrow_mut().data;
            leaving.extend(cached.insert((id, number), block));
            (rest, number) = (after, number + 1);
        }
        self.note_leaving(&leaving);
    }

    /// The state of a file before the client writes to it, if some of its data may be cached.
    pub(crate) fn before_write(&self, id: FileId) -> Option<BeforeWrite> {
        if self.config().data_bytes_max == 0 {
            return None;
        }
        Some(BeforeWrite {
            versions: self.data_versions(id)?,
            size: self.clean_state(id)?.attributes.size,
        })
    }

    /// The cached state of a file at its home, without dirty data.
    pub(crate) fn clean_state(&self, id: FileId) -> Option<FileState> {
        let (home, now) = (self.home_part(id), self.context().now());
        self.with_leases(|leases| leases.state(home, now))?
    }

    /// Caches pieces that the client has written in parallel, with so many requests to the home.
    /// Earlier blocks stay valid, too, if no other change has occurred since.
    pub(crate) fn cache_written(
        &self,
        id: FileId,
        before: &BeforeWrite,
        pieces: &[Piece],
        requests: usize,
    ) {
        let changes = Before {
            versions: before.versions,
            changes: requests,
        };
        let home = self.home_part(id);
        let stays_valid = |leases: &mut Leases| leases.extend_data_validity(home, changes);
        let Some(versions) = self.with_leases(stays_valid).flatten() else {
            return;
        };
        let Some(state) = self.clean_state(id) else {
            return;
        };
        let mut file = WrittenFile {
            before: before.versions,
            chances: self.chances(id),
            old_size: before.size,
            version: versions.now,
            size: state.attributes.size,
        };
        for piece in pieces {
            self.cache_piece(id, file, piece);
            file.old_size = file.old_size.max(piece.0 + piece.1.len() as u64);
        }
    }

    /// Writes a piece into the cached blocks of a file. A block is valid if it was cached before
    /// the write, or has the version that goes with the present size. Blocks below `old_size` that
    /// are not cached have unknown contents.
    fn cache_piece(&self, id: FileId, file: WrittenFile, (offset, data): &Piece) {
        let WrittenFile {
            version,
            size,
            chances,
            ..
        } = file;
        let offset = *offset;
        let end = offset + data.len() as u64;
        if size < end {
            // A correct home never reports such a size.
            return;
        }
        let blocks = &mut self.memory.borrow_mut().data;
        let mut leaving = Vec::new();
        for number in offset / BLOCK_BYTES..=(end - 1) / BLOCK_BYTES {
            let from = number * BLOCK_BYTES;
            let to = size.min(from + BLOCK_BYTES);
            let (first, last) = (offset.max(from), end.min(to));
            let written = data.slice((first - offset) as usize, (last - offset) as usize);
            let old_length = file.old_size.clamp(from, to) - from;
            let old = match blocks.get((id, number)) {
                Some(block) if block.version == version => Some(block.data.clone()),
                _ if old_length == 0 => Some(Payload::empty()),
                Some(block) if file.before.cover(block.version) => Some(block.data.clone()),
                _ => None,
            };
            let old = old.filter(|old| old.len() as u64 >= old_length);
            let at = (first - from) as usize;
            match overwritten(old.as_ref(), (to - from) as usize, at, &written) {
                Some(data) => {
                    let block = Block {
                        version,
                        data,
                        chances,
                    };
                    leaving.extend(blocks.insert((id, number), block));
                }
                None => blocks.remove((id, number)),
            }
        }
        self.note_leaving(&leaving);
    }
}

/// The state of a file after a write, and before each of its pieces.
#[derive(Clone, Copy)]
struct WrittenFile {
    /// The versions before the write.
    before: DataVersions,
    /// The chances of its blocks.
    chances: u8,
    /// The size with the pieces before this one.
    old_size: u64,
    /// The version after the write.
    version: u64,
    /// The size that goes with it.
    size: u64,
}

/// A block of `length` bytes after a write into it; `None` if it is unknown or costs too much.
fn overwritten(
    old: Option<&Payload>,
    length: usize,
    at: usize,
    written: &Payload,
) -> Option<Payload> {
    if written.len() == length {
        return Some(written.clone().compact());
    }
    let old = old.filter(|_| written.len() >= length / REBUILD_MIN_PART)?;
    let end = at + written.len();
    let head = old.slice(0, old.len().min(at));
    let mut pieces = alloc::vec![(0, head), (at, written.clone())];
    if old.len() > end {
        pieces.push((end, old.slice(end, old.len())));
    }
    Some(Payload::gather(length, &pieces))
}
