//! What a client keeps of files' data while leases cover it.

use crate::{Client, Config, Context};
use alloc::vec::Vec;
use futago_base::{Errno, FileId, Payload};
use serde::Serialize;

/// A file, and the number of one of its blocks.
pub type BlockPlace = (FileId, u64);

/// A block of a file's data; the last one of a file may be short.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// It is right while the file's data is covered by a lease and this is its stamp.
    stamp: u64,
    data: Payload,
}

const BLOCK_BYTES: u64 = Config::DATA_BLOCK_BYTES as u64;
/// How much is read at once for a caller that reads one piece after the other.
const READ_AHEAD_BYTES: u64 = 1 << 20;

impl<C: Context> Client<C> {
    /// What tells whether a file's data that is kept is right; `None` if no data is kept.
    fn data_stamp(&self, id: FileId) -> Option<u64> {
        let (home, now) = (self.map().home(id), self.context().now());
        self.with_leases(|leases| leases.data_stamp(id, home, now))?
    }

    async fn stamp_for_reading(&self, id: FileId) -> Result<Option<u64>, Errno> {
        if self.config().data_blocks_max == 0 {
            return Ok(None);
        }
        if self.with_leases(|leases| leases.reads(id)) == Some(true) {
            self.lease_data(id).await?;
        }
        Ok(self.data_stamp(id))
    }

    /// Reads, from memory if everything is there. What is missing is read with all of its blocks, and with
    /// further ones if the block before is there.
    pub(crate) async fn read_kept(
        &self,
        id: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Payload, Errno> {
        let end = offset.saturating_add(length.into());
        let Some(stamp) = self.stamp_for_reading(id).await? else {
            return self.read_now(id, offset, length).await;
        };
        if let Some(data) = self.kept(id, stamp, offset, end) {
            return Ok(data);
        }
        let from = offset - offset % BLOCK_BYTES;
        let to = end.next_multiple_of(BLOCK_BYTES);
        let to = if self.is_kept(id, stamp, from) {
            to.max(from + READ_AHEAD_BYTES)
        } else {
            to
        };
        let Ok(whole) = u32::try_from(to - from) else {
            return self.read_now(id, offset, length).await;
        };
        let data = self.read_now(id, from, whole).await?;
        if self.data_stamp(id) == Some(stamp) {
            self.keep(id, stamp, from, &data);
        }
        let within = |at: u64| (at - from).min(data.len() as u64) as usize;
        Ok(data.slice(within(offset), within(end)))
    }

    /// Whether the block that ends at an offset is kept.
    fn is_kept(&self, id: FileId, stamp: u64, end: u64) -> bool {
        let memory = self.memory.borrow();
        let before = (end / BLOCK_BYTES).checked_sub(1);
        let block = before.and_then(|number| memory.data.get((id, number)));
        block.is_some_and(|block| block.stamp == stamp)
    }

    /// The bytes of a range, or up to the end of the file, if they are kept.
    fn kept(&self, id: FileId, stamp: u64, offset: u64, end: u64) -> Option<Payload> {
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
            if block.stamp != stamp || to > block.data.len() as u64 {
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
}
