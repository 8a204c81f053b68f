//! Blocks of files' data, within bounds.

use crate::cache::{Cache, CacheUndo};
use futago_base::{FileId, Payload};
use serde::Serialize;

/// A file, and the number of one of its blocks.
pub type BlockPlace = (FileId, u64);

/// A block of a file's data; the last one of a file may be short.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// It is right while the file's data is covered by a lease whose stamps cover this one.
    pub stamp: u64,
    /// Its bytes.
    pub data: Payload,
}

/// What a block takes beside its data, roughly, in bytes.
const BESIDE_BYTES: u64 = 256;

impl Block {
    const fn bytes(&self) -> u64 {
        self.data.len() as u64 + BESIDE_BYTES
    }
}

/// Blocks; those that have been kept longest are forgotten first.
#[derive(Debug, Serialize)]
pub struct KeptBlocks {
    blocks: Cache<Block, BlockPlace>,
    /// What they take.
    bytes: u64,
    /// The same when changes were last taken, if they are kept.
    #[serde(skip)]
    bytes_before: Option<u64>,
    #[serde(skip)]
    bytes_max: u64,
}

/// What it takes to bring [`KeptBlocks`] back to where they were.
#[derive(Debug)]
pub struct KeptBlocksUndo {
    blocks: CacheUndo<Block, BlockPlace>,
    bytes: Option<u64>,
}

impl KeptBlocks {
    /// None yet, and no more than such a number of bytes of them.
    pub const fn new(bytes_max: u64) -> Self {
        Self {
            blocks: Cache::new(usize::MAX),
            bytes: 0,
            bytes_before: None,
            bytes_max,
        }
    }

    /// From now on, remembers how changes are taken back.
    pub fn record_changes(&mut self) {
        self.blocks.record_changes();
        self.bytes_before = Some(self.bytes);
    }

    /// What takes back the changes since the last time, if they are kept.
    pub fn take_changes(&mut self) -> KeptBlocksUndo {
        let now = self.bytes_before.map(|_| self.bytes);
        KeptBlocksUndo {
            blocks: self.blocks.take_changes(),
            bytes: core::mem::replace(&mut self.bytes_before, now),
        }
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: KeptBlocksUndo) {
        self.blocks.take_back(undo.blocks);
        self.bytes = undo.bytes.unwrap_or(self.bytes);
        self.bytes_before = undo.bytes;
    }

    /// A block, which may be old.
    pub fn get(&self, place: BlockPlace) -> Option<&Block> {
        self.blocks.get(place)
    }

    /// Keeps a block.
    pub fn insert(&mut self, place: BlockPlace, block: Block) {
        self.remove(place);
        self.bytes += block.bytes();
        self.blocks.insert(place, block);
        while self.bytes > self.bytes_max
            && let Some(oldest) = self.blocks.oldest()
        {
            self.remove(oldest);
        }
    }

    /// Forgets a block.
    pub fn remove(&mut self, place: BlockPlace) {
        if let Some(block) = self.blocks.remove(place) {
            self.bytes -= block.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn place(number: u64) -> BlockPlace {
        (FileId(1), number)
    }

    fn block(bytes: usize) -> Block {
        Block {
            stamp: 1,
            data: Payload::from(Bytes::from(alloc::vec![0; bytes])),
        }
    }

    fn kept(blocks: &KeptBlocks) -> alloc::vec::Vec<u64> {
        let all = 0..10;
        all.filter(|&number| blocks.get(place(number)).is_some())
            .collect()
    }

    #[test]
    fn the_oldest_blocks_go_when_there_are_too_many_bytes() {
        let mut blocks = KeptBlocks::new(3 * BESIDE_BYTES + 100);
        blocks.insert(place(0), block(40));
        blocks.insert(place(1), block(40));
        blocks.insert(place(0), block(50));
        assert_eq!(kept(&blocks), [0, 1]);
        blocks.insert(place(2), block(20));
        assert_eq!(kept(&blocks), [0, 2], "the first one was kept anew");
        blocks.insert(place(3), block(1000));
        assert_eq!((kept(&blocks).len(), blocks.bytes), (0, 0));
    }

    #[test]
    fn changes_are_taken_back() {
        let mut blocks = KeptBlocks::new(2 * BESIDE_BYTES);
        blocks.record_changes();
        blocks.insert(place(0), block(0));
        blocks.take_changes();
        let before = alloc::format!("{blocks:?}");
        blocks.insert(place(1), block(0));
        blocks.insert(place(2), block(0));
        blocks.remove(place(1));
        let undo = blocks.take_changes();
        assert_ne!(alloc::format!("{blocks:?}"), before);
        blocks.take_back(undo);
        assert_eq!(alloc::format!("{blocks:?}"), before);
    }
}
