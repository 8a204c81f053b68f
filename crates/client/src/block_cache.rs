//! A bounded cache of blocks of file data.

use crate::cache::{Cache, CacheUndo};
use alloc::vec::Vec;
use futago_base::{
    FileId, Payload,
    reversible::{Changes, ReversibleMap},
};
use serde::Serialize;

/// A file, and the number of one of its blocks.
pub type BlockKey = (FileId, u64);

/// A block of file data; the last block of a file may be short.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// The data version of the block. The block is valid while the file is leased and its valid
    /// versions cover this one.
    pub version: u64,
    /// The bytes.
    pub data: Payload,
    /// How often the block may pass to another client instead of being evicted; 0 if another client
    /// probably has it, too.
    pub chances: u8,
}

/// The most blocks of pinned files that one insertion passes over.
const SPARED_MAX: usize = 1024;
/// The approximate memory of a block besides its data, in bytes.
const OVERHEAD_BYTES: u64 = 256;

impl Block {
    const fn bytes(&self) -> u64 {
        self.data.len() as u64 + OVERHEAD_BYTES
    }
}

/// Cached blocks; the oldest are evicted first. Blocks with chances then leave: they stay for a
/// while for another client that may take them.
#[derive(Debug, Serialize)]
pub struct BlockCache {
    blocks: Cache<Block, BlockKey>,
    leaving: Cache<Block, BlockKey>,
    bytes: Bytes,
    /// The bytes when changes were last taken, if changes are recorded.
    #[serde(skip)]
    bytes_before: Option<Bytes>,
    #[serde(skip)]
    limits: Bytes,
    /// The files whose blocks stay as long as there are others.
    pinned: ReversibleMap<FileId, ()>,
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Bytes {
    blocks: u64,
    leaving: u64,
}

/// The changes of [`BlockCache`] to undo.
#[derive(Debug)]
pub struct BlockCacheUndo {
    blocks: CacheUndo<Block, BlockKey>,
    leaving: CacheUndo<Block, BlockKey>,
    bytes: Option<Bytes>,
    pinned: Changes<FileId, ()>,
}

impl BlockCache {
    /// An empty cache for at most `bytes_max` bytes, of which `leaving_max` are for blocks that
    /// leave.
    pub const fn new(bytes_max: u64, leaving_max: u64) -> Self {
        Self {
            blocks: Cache::new(usize::MAX),
            leaving: Cache::new(usize::MAX),
            bytes: Bytes {
                blocks: 0,
                leaving: 0,
            },
            bytes_before: None,
            limits: Bytes {
                blocks: bytes_max - leaving_max,
                leaving: leaving_max,
            },
            pinned: ReversibleMap::new(),
        }
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.blocks.record_changes();
        self.leaving.record_changes();
        self.pinned.record_changes();
        self.bytes_before = Some(self.bytes);
    }

    /// The changes since the last call, if they are recorded.
    pub fn take_changes(&mut self) -> BlockCacheUndo {
        let now = self.bytes_before.map(|_| self.bytes);
        BlockCacheUndo {
            blocks: self.blocks.take_changes(),
            leaving: self.leaving.take_changes(),
            bytes: core::mem::replace(&mut self.bytes_before, now),
            pinned: self.pinned.take_changes(),
        }
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: BlockCacheUndo) {
        self.blocks.take_back(undo.blocks);
        self.leaving.take_back(undo.leaving);
        self.pinned.take_back(undo.pinned);
        self.bytes = undo.bytes.unwrap_or(self.bytes);
        self.bytes_before = undo.bytes;
    }

    /// A block, which may be stale.
    pub fn get(&self, key: BlockKey) -> Option<&Block> {
        self.blocks.get(key).or_else(|| self.leaving.get(key))
    }

    /// Caches a block. Returns the blocks that leave for it, with their chances.
    pub fn insert(&mut self, key: BlockKey, block: Block) -> Vec<(BlockKey, u8)> {
        self.remove(key);
        self.bytes.blocks += block.bytes();
        self.blocks.insert(key, block);
        let mut spared = 0;
        let mut leaving = Vec::new();
        while self.bytes.blocks > self.limits.blocks
            && let Some(oldest) = self.blocks.oldest()
        {
            if spared < SPARED_MAX && self.pinned.contains_key(&oldest.0) {
                self.blocks.renew(oldest);
                spared += 1;
            } else {
                leaving.extend(self.evict(oldest));
            }
        }
        leaving
    }

    /// Evicts a block. Returns its chances if it has any, and leaves.
    fn evict(&mut self, key: BlockKey) -> Option<(BlockKey, u8)> {
        let block = self.blocks.remove(key)?;
        self.bytes.blocks -= block.bytes();
        let chances = block.chances;
        if chances == 0 {
            return None;
        }
        self.bytes.leaving += block.bytes();
        self.leaving.insert(key, block);
        while self.bytes.leaving > self.limits.leaving
            && let Some(oldest) = self.leaving.oldest()
        {
            self.remove(oldest);
        }
        Some((key, chances))
    }

    /// Sets the chances of a block that has not begun to leave.
    pub fn set_chances(&mut self, key: BlockKey, chances: u8) {
        if let Some(block) = self.blocks.get_mut(key) {
            block.chances = chances;
        }
    }

    /// Pins a file, or ends that: its blocks are evicted after those of other files.
    pub fn pin(&mut self, file: FileId, is_pinned: bool) {
        if is_pinned {
            self.pinned.insert(file, ());
        } else {
            self.pinned.remove(&file);
        }
    }

    /// Removes a block.
    pub fn remove(&mut self, key: BlockKey) {
        if let Some(block) = self.blocks.remove(key) {
            self.bytes.blocks -= block.bytes();
        }
        if let Some(block) = self.leaving.remove(key) {
            self.bytes.leaving -= block.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> BlockKey {
        (FileId(1), number)
    }

    fn block(bytes: usize) -> Block {
        Block {
            version: 1,
            data: Payload::from(bytes::Bytes::from(alloc::vec![0; bytes])),
            chances: 0,
        }
    }

    fn single(chances: u8) -> Block {
        Block {
            chances,
            ..block(0)
        }
    }

    fn cached(blocks: &BlockCache) -> Vec<u64> {
        let all = 0..10;
        all.filter(|&number| blocks.get(key(number)).is_some())
            .collect()
    }

    #[test]
    fn the_oldest_blocks_go_when_there_are_too_many_bytes() {
        let mut blocks = BlockCache::new(3 * OVERHEAD_BYTES + 100, 0);
        blocks.insert(key(0), block(40));
        blocks.insert(key(1), block(40));
        blocks.insert(key(0), block(50));
        assert_eq!(cached(&blocks), [0, 1]);
        blocks.insert(key(2), block(20));
        assert_eq!(cached(&blocks), [0, 2], "the first one was cached anew");
        blocks.insert(key(3), block(1000));
        assert_eq!((cached(&blocks).len(), blocks.bytes), (0, Bytes::default()));
    }

    #[test]
    fn blocks_of_pinned_files_stay_as_long_as_there_are_others() {
        let mut blocks = BlockCache::new(3 * OVERHEAD_BYTES, 0);
        let other = |number: u64| (FileId(2), number);
        blocks.pin(FileId(1), true);
        blocks.insert(key(0), block(0));
        for number in 0..10 {
            blocks.insert(other(number), block(0));
        }
        assert_eq!(cached(&blocks), [0]);
        for number in 1..5 {
            blocks.insert(key(number), block(0));
        }
        assert_eq!(
            cached(&blocks).len(),
            3,
            "pinned ones do not grow beyond the cache"
        );
        blocks.pin(FileId(1), false);
        for number in 0..3 {
            blocks.insert(other(number), block(0));
        }
        assert_eq!(cached(&blocks), [0; 0]);
    }

    #[test]
    fn single_blocks_leave_after_others_are_gone() {
        let mut blocks = BlockCache::new(3 * OVERHEAD_BYTES, OVERHEAD_BYTES);
        assert_eq!(blocks.insert(key(0), block(0)), []);
        assert_eq!(blocks.insert(key(1), single(3)), []);
        assert_eq!(blocks.insert(key(2), single(1)), []);
        assert_eq!(cached(&blocks), [1, 2]);
        assert_eq!(blocks.insert(key(3), block(0)), [(key(1), 3)]);
        assert_eq!(cached(&blocks), [1, 2, 3], "it can still be copied");
        assert_eq!(blocks.insert(key(4), block(0)), [(key(2), 1)]);
        assert_eq!(cached(&blocks), [2, 3, 4]);
        blocks.remove(key(2));
        assert_eq!(blocks.bytes.leaving, 0);
    }

    #[test]
    fn changes_are_taken_back() {
        let mut blocks = BlockCache::new(2 * OVERHEAD_BYTES, OVERHEAD_BYTES);
        blocks.record_changes();
        blocks.insert(key(0), single(1));
        blocks.take_changes();
        let before = alloc::format!("{blocks:?}");
        blocks.insert(key(1), block(0));
        blocks.insert(key(2), block(0));
        blocks.remove(key(0));
        let undo = blocks.take_changes();
        assert_ne!(alloc::format!("{blocks:?}"), before);
        blocks.take_back(undo);
        assert_eq!(alloc::format!("{blocks:?}"), before);
    }
}
