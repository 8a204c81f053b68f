//! Reads ahead in files that other clients may be reading, too.
//!
//! In a chain of clients each one sends on what it receives. If all of them asked for a piece only
//! when their programs get there, each delay would delay all behind it. So a program that reads in
//! order has the next pieces under way.

use super::queue::Queue;
use crate::{Client, Config, Context, leases::DataVersions};
use core::ops::Range;
use futago_base::FileId;
use futago_wire::cache::PIECE_BYTES;

const BLOCK: u64 = Config::DATA_BLOCK_BYTES as u64;
/// So much is under way before a program that reads in order, in bytes.
const AHEAD_BYTES: u64 = 2 * PIECE_BYTES;
/// So many blocks before an offset are cached if a program reads in order.
const BLOCKS_BEFORE: u64 = 4;

/// Ranges of files to read into the cache. A program reads itself what is not noted.
pub type Ahead = Queue<(FileId, Range<u64>)>;

impl<C: Context> Client<C> {
    /// Waits until a program will probably read a range of a file soon. The runtime has
    /// [`Client::read_ahead`] read it meanwhile.
    pub async fn wanted_ahead(&self) -> (FileId, Range<u64>) {
        self.ahead.take().await
    }

    /// Reads a range into the cache, unless the file has changed. A program that needs it gets the
    /// errors.
    pub async fn read_ahead(&self, (file, range): (FileId, Range<u64>)) {
        let Some(versions) = self.data_versions(file) else {
            return;
        };
        if let Some(missing) = self.missing(file, versions, &range) {
            let _ = self.read_blocks(file, versions, missing).await;
        }
    }

    /// A program reads up to an offset. If it reads in order, the next pieces are to be there
    /// before it is.
    pub(crate) fn look_ahead(&self, id: FileId, versions: DataVersions, range: &Range<u64>) {
        let is_inside_block = range.start / BLOCK == range.end / BLOCK;
        if is_inside_block || !self.may_be_shared(id) || !self.reads_in_order(id, versions, range) {
            return;
        }
        let size = self.clean_state(id).map_or(0, |it| it.attributes.size);
        // A whole piece at a time.
        let first = range.end.next_multiple_of(PIECE_BYTES);
        for start in (first..range.end + AHEAD_BYTES).step_by(PIECE_BYTES as usize) {
            let piece = start..(start + PIECE_BYTES).min(size);
            if start < size && self.missing(id, versions, &piece).is_some() {
                self.ahead.put((id, piece));
            }
        }
    }

    fn reads_in_order(&self, id: FileId, versions: DataVersions, range: &Range<u64>) -> bool {
        let at = range.start - range.start % BLOCK;
        at >= BLOCKS_BEFORE * BLOCK
            && self.config().data_bytes_max >= 8 * AHEAD_BYTES
            && (1..=BLOCKS_BEFORE)
                .all(|before| self.is_cached(id, versions, at - (before - 1) * BLOCK))
    }

    /// The part of a range from the first block on that is neither cached nor under way.
    fn missing(
        &self,
        id: FileId,
        versions: DataVersions,
        range: &Range<u64>,
    ) -> Option<Range<u64>> {
        let mut blocks = (range.start..range.end).step_by(BLOCK as usize);
        let is_missing = |start: &u64| {
            let is_cached = self.is_cached(id, versions, start + BLOCK);
            !is_cached && !self.fetches.are_under_way(id, *start)
        };
        blocks.find(is_missing).map(|start| start..range.end)
    }
}
