//! The data of files.

use super::{Copier, Verification};
use crate::{Failure, Result, Tree, TreePath};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The most bytes that one read or write copies.
const BLOCK_BYTES: u64 = 4 << 20;

/// The nodes of a copy.
pub(super) struct Nodes<'a, S, T> {
    /// The path of the source, for messages.
    pub path: &'a TreePath,
    /// The source.
    pub source: &'a S,
    /// The target.
    pub target: &'a T,
}

/// A block of data that was written.
struct Block {
    offset: u64,
    length: u32,
    checksum: u64,
}

impl<S: Tree, T: Tree> Copier<S, T> {
    /// Copies a range and leaves holes out. Returns the number of written bytes.
    pub(super) fn copy_range(
        &self,
        nodes: &Nodes<'_, S::Node, T::Node>,
        range: Range<u64>,
    ) -> Result<u64> {
        let (mut written, mut offset) = (Vec::new(), range.start);
        while let Some(data) = self.next_range(nodes, offset..range.end)? {
            offset = data.end;
            self.copy_blocks(nodes, data, &mut written)?;
        }
        if self.rules.verification == Verification::Checksums {
            written
                .iter()
                .try_for_each(|block| self.verify(nodes, block))?;
        }
        Ok(written.iter().map(|block| u64::from(block.length)).sum())
    }

    /// The first data within a range.
    fn next_range(
        &self,
        nodes: &Nodes<'_, S::Node, T::Node>,
        within: Range<u64>,
    ) -> Result<Option<Range<u64>>> {
        if within.is_empty() {
            return Ok(None);
        }
        match self.source.next_data(nodes.source, within.start)? {
            Some(start) if start < within.end => {
                let end = self.source.next_hole(nodes.source, start)?;
                Ok(Some(start..end.min(within.end)))
            }
            _ => Ok(None),
        }
    }

    fn copy_blocks(
        &self,
        nodes: &Nodes<'_, S::Node, T::Node>,
        range: Range<u64>,
        written: &mut Vec<Block>,
    ) -> Result<()> {
        let mut offset = range.start;
        while offset < range.end {
            self.ensure_uninterrupted(nodes.path)?;
            let length = BLOCK_BYTES.min(range.end - offset) as u32;
            let data = self.source.read(nodes.source, offset, length)?;
            if data.len() < length as usize {
                return Err(Failure::changed(nodes.path));
            }
            let checksum = xxh3_64(&data);
            self.target.write(nodes.target, offset, data)?;
            written.push(Block {
                offset,
                length,
                checksum,
            });
            offset += u64::from(length);
        }
        Ok(())
    }

    /// Reads a written block and compares its checksum.
    fn verify(&self, nodes: &Nodes<'_, S::Node, T::Node>, block: &Block) -> Result<()> {
        self.ensure_uninterrupted(nodes.path)?;
        let data = self.target.read(nodes.target, block.offset, block.length)?;
        if data.len() == block.length as usize && xxh3_64(&data) == block.checksum {
            return Ok(());
        }
        let cause = format!("its copy differs at offset {}", block.offset);
        Err(Failure::of_file(nodes.path, "verifying", cause))
    }

    /// Whether both files hold the same bytes.
    pub(super) fn is_same_data(
        &self,
        nodes: &Nodes<'_, S::Node, T::Node>,
        size: u64,
    ) -> Result<bool> {
        let mut offset = 0;
        while offset < size {
            self.ensure_uninterrupted(nodes.path)?;
            let length = BLOCK_BYTES.min(size - offset);
            let data = self.source.read(nodes.source, offset, length as u32)?;
            if data != self.target.read(nodes.target, offset, length as u32)? {
                return Ok(false);
            }
            offset += length;
        }
        Ok(true)
    }
}
