//! What a client keeps of files' data while leases cover it.

use crate::{
    Client, Config, Context,
    kept_blocks::Block,
    layout::Piece,
    leases::{Before, Leases, Stamps},
};
use alloc::vec::Vec;
use core::ops::Range;
use futago_base::{Errno, FileId, Payload};
use futago_wire::FileState;

const BLOCK_BYTES: u64 = Config::DATA_BLOCK_BYTES as u64;
/// How many blocks are read at most for a caller that reads one after the other.
const READ_AHEAD_BLOCKS: u64 = 16;
/// How many blocks are read for each that the caller has read just before them.
const READ_AHEAD_FACTOR: u64 = 4;
/// A block is put together anew for a write if that makes up at least such a part of it; otherwise that would cost more than
/// the write.
const WRITTEN_PART: usize = 4;

/// How a file was before the client wrote to it.
pub struct BeforeWrite {
    stamps: Stamps,
    size: u64,
}

impl<C: Context> Client<C> {
    /// What tells whether a file's data that is kept is right; `None` if no data is kept.
    pub(crate) fn data_stamps(&self, id: FileId) -> Option<Stamps> {
        let (home, now) = (self.map().home(id), self.context().now());
        self.with_leases(|leases| leases.data_stamps(id, home, now))?
    }

    async fn stamps_for_reading(&self, id: FileId) -> Result<Option<Stamps>, Errno> {
        if self.config().data_bytes_max == 0 {
            return Ok(None);
        }
        if self.with_leases(|leases| leases.reads(id)) == Some(true) {
            self.lease_data(id).await?;
        }
        Ok(self.data_stamps(id))
    }

    /// Reads, from memory if everything is there. What is missing is read with its blocks if these are worth keeping.
    pub(crate) async fn read_kept(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        let end = offset.saturating_add(length.into());
        let Some(stamps) = self.stamps_for_reading(id).await? else {
            return self.read_now(id, offset, length).await;
        };
        if let Some(data) = self.kept(id, stamps, offset, end) {
            return Ok(data);
        }
        let blocks = self.worth_reading(id, stamps, offset..end);
        let Range {
            start: from,
            end: to,
        } = blocks.clone().unwrap_or(offset..end);
        let data = self.read_now(id, from, (to - from) as u32).await?;
        if let Some(hint) = self.memory.borrow_mut().files.get_mut(id) {
            hint.read_end = end;
        }
        if blocks.is_some() && self.data_stamps(id) == Some(stamps) {
            self.keep(id, stamps.now, from, &data);
        }
        let within = |at: u64| (at - from).min(data.len() as u64) as usize;
        Ok(data.slice(within(offset), within(end)))
    }

    /// The blocks that are worth reading for a range that is not all kept, and further ones for who reads on. `None` for another
    /// place within a file that is larger than all that may be kept: it is hardly read again in time.
    fn worth_reading(&self, id: FileId, stamps: Stamps, range: Range<u64>) -> Option<Range<u64>> {
        let from = range.start - range.start % BLOCK_BYTES;
        let needed = range.end.next_multiple_of(BLOCK_BYTES);
        let mut blocks = (from..range.end).step_by(BLOCK_BYTES as usize);
        let is_missing = |start: &u64| !self.is_kept(id, stamps, start + BLOCK_BYTES);
        let missing = blocks.find(is_missing).unwrap_or(from);
        let ahead = self.blocks_ahead(id, stamps, missing) * BLOCK_BYTES;
        let goes_on = ahead > 0 && missing >= range.start || self.was_read_up_to(id, range.start);
        if !goes_on && !self.may_be_kept_whole(id) {
            return None;
        }
        let to = self.end_of_gap(id, stamps, needed, missing + ahead);
        u32::try_from(to - from).is_ok().then_some(from..to)
    }

    fn was_read_up_to(&self, id: FileId, offset: u64) -> bool {
        let memory = self.memory.borrow();
        let hint = memory.files.get(id);
        hint.is_some_and(|hint| hint.read_end == offset)
    }

    /// How many blocks are worth reading from a place on where a block begins: the more the longer it has been read on.
    fn blocks_ahead(&self, id: FileId, stamps: Stamps, from: u64) -> u64 {
        let most = READ_AHEAD_BLOCKS / READ_AHEAD_FACTOR;
        let ends = (1..=from / BLOCK_BYTES).rev().map(|end| end * BLOCK_BYTES);
        let kept = ends.take_while(|&end| self.is_kept(id, stamps, end));
        kept.take(most as usize).count() as u64 * READ_AHEAD_FACTOR
    }

    fn may_be_kept_whole(&self, id: FileId) -> bool {
        let state = self.state_before_unsent(id);
        state.is_some_and(|state| state.attributes.size <= self.config().data_bytes_max)
    }

    /// Whether the block that ends at an offset is kept.
    fn is_kept(&self, id: FileId, stamps: Stamps, end: u64) -> bool {
        let memory = self.memory.borrow();
        let before = (end / BLOCK_BYTES).checked_sub(1);
        let block = before.and_then(|number| memory.data.get((id, number)));
        block.is_some_and(|block| stamps.cover(block.stamp))
    }

    /// Up to where it is worth reading from a place on where a block begins: to the next block that is kept, or to `limit`.
    fn end_of_gap(&self, id: FileId, stamps: Stamps, from: u64, limit: u64) -> u64 {
        let mut ends = (from..limit).step_by(BLOCK_BYTES as usize);
        let is_next_kept = |&end: &u64| self.is_kept(id, stamps, end + BLOCK_BYTES);
        ends.find(is_next_kept).unwrap_or(limit.max(from))
    }

    /// The bytes of a range, or up to the end of the file, if they are kept.
    fn kept(&self, id: FileId, stamps: Stamps, offset: u64, end: u64) -> Option<Payload> {
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
            if !stamps.cover(block.stamp) || to > block.data.len() as u64 {
                return None;
            }
            let piece = block.data.slice(from as usize, to as usize);
            pieces.push(((at - offset) as usize, piece));
            at += to - from;
        }
        Some(Payload::gather((end - offset) as usize, &pieces))
    }

    /// Keeps data that begins with a block.
    fn keep(&self, id: FileId, stamp: u64, from: u64, data: &Payload) {
        let mut memory = self.memory.borrow_mut();
        let mut rest = data.clone();
        let mut number = from / BLOCK_BYTES;
        while !rest.is_empty() {
            let (block, after) = rest.split_at(rest.len().min(BLOCK_BYTES as usize));
            memory
                .data
                .insert((id, number), Block { stamp, data: block });
            (rest, number) = (after, number + 1);
        }
    }

    /// How a file is before the client writes to it, if some of its data may be kept.
    pub(crate) fn before_write(&self, id: FileId) -> Option<BeforeWrite> {
        if self.config().data_bytes_max == 0 {
            return None;
        }
        Some(BeforeWrite {
            stamps: self.data_stamps(id)?,
            size: self.state_before_unsent(id)?.attributes.size,
        })
    }

    /// A file as its home knows it, if that is known.
    pub(crate) fn state_before_unsent(&self, id: FileId) -> Option<FileState> {
        let (home, now) = (self.map().home(id), self.context().now());
        self.with_leases(|leases| leases.state(id, home, now))?
    }

    /// Keeps pieces that the client has written side by side, each with one request, and what was kept before, if nothing else
    /// has happened to the file since.
    pub(crate) fn keep_written(&self, id: FileId, before: &BeforeWrite, pieces: &[Piece]) {
        let changes = Before {
            stamps: before.stamps,
            changes: pieces.len(),
        };
        let goes_on = |leases: &mut Leases| leases.data_goes_on(id, Some(changes));
        let Some(stamps) = self.with_leases(goes_on).flatten() else {
            return;
        };
        let Some(state) = self.state_before_unsent(id) else {
            return;
        };
        let now = (stamps.now, state.attributes.size);
        let mut old_size = before.size;
        for (offset, data) in pieces {
            self.keep_piece(id, (before.stamps, old_size), now, (*offset, data));
            old_size = old_size.max(offset + data.len() as u64);
        }
    }

    /// Puts a piece into the blocks of a file, which were kept before, or with the stamp that goes with its size now. Up to its
    /// old size, that with the pieces before this one, nothing is known of blocks that are not kept.
    fn keep_piece(
        &self,
        id: FileId,
        (before, old_size): (Stamps, u64),
        (stamp, size): (u64, u64),
        (offset, data): (u64, &Payload),
    ) {
        let end = offset + data.len() as u64;
        if size < end {
            // No home tells this.
            return;
        }
        let blocks = &mut self.memory.borrow_mut().data;
        for number in offset / BLOCK_BYTES..=(end - 1) / BLOCK_BYTES {
            let from = number * BLOCK_BYTES;
            let to = size.min(from + BLOCK_BYTES);
            let (first, last) = (offset.max(from), end.min(to));
            let written = data.slice((first - offset) as usize, (last - offset) as usize);
            let old_length = old_size.clamp(from, to) - from;
            let old = match blocks.get((id, number)) {
                Some(block) if block.stamp == stamp => Some(block.data.clone()),
                _ if old_length == 0 => Some(Payload::empty()),
                Some(block) if before.cover(block.stamp) => Some(block.data.clone()),
                _ => None,
            };
            let old = old.filter(|old| old.len() as u64 >= old_length);
            let at = (first - from) as usize;
            match overwritten(old.as_ref(), (to - from) as usize, at, &written) {
                Some(data) => blocks.insert((id, number), Block { stamp, data }),
                None => blocks.remove((id, number)),
            }
        }
    }
}

/// A block of this length after something was written at a place of it; `None` if that cannot be told, or costs too much.
fn overwritten(
    old: Option<&Payload>,
    length: usize,
    at: usize,
    written: &Payload,
) -> Option<Payload> {
    if written.len() == length {
        return Some(written.clone().compact());
    }
    let old = old.filter(|_| written.len() >= length / WRITTEN_PART)?;
    let end = at + written.len();
    let head = old.slice(0, old.len().min(at));
    let mut pieces = alloc::vec![(0, head), (at, written.clone())];
    if old.len() > end {
        pieces.push((end, old.slice(end, old.len())));
    }
    Some(Payload::gather(length, &pieces))
}
