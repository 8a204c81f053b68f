//! The record of a file's attributes, at the file's home.

use crate::{FileId, Kind, Timestamp};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A file's attributes and what its home must remember of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inode {
    /// What sort of node it is.
    pub kind: Kind,
    /// The low 12 bits of `st_mode`.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names. A directory's `st_nlink` is computed from its headers instead.
    pub links: u32,
    /// Whether it was made without a name and may be given one although it has no links.
    pub linkable: bool,
    /// Device number of a device node.
    pub device: u32,
    /// Size in bytes of a regular file or symbolic link.
    pub size: u64,
    /// How far chunks may reach, in bytes: the servers of all chunks up to here have been told of the
    /// file, and beyond there are none. It never falls.
    pub reach: u64,
    /// Whether chunks may be written up to `reach` before the size covers them: while the file is
    /// open, so that its end takes what a client that is gone has left there.
    pub ahead: bool,
    /// Whether there may be holes below the size.
    pub sparse: bool,
    /// Whether chunks are changed only after the home was told of it, so that leases on the file cover its data.
    pub announced: bool,
    /// Bytes a chunk.
    pub chunk_bytes: u32,
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the contents. For a directory: the time that was set last by a user.
    pub modified: Timestamp,
    /// Last change of the attributes.
    pub changed: Timestamp,
    /// Birth.
    pub born: Timestamp,
    /// What earlier truncations still mean for chunks that have not heard of them.
    pub truncations: Truncations,
    /// How many servers have not yet confirmed that they cut their chunks.
    pub cuts_pending: u32,
    /// The target of a symbolic link, empty otherwise.
    pub target: Bytes,
    /// Where a directory hangs in the tree.
    pub place: Option<DirectoryPlace>,
}

/// What only directories have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryPlace {
    /// The directory above; the root's is itself.
    pub parent: FileId,
    /// When a user last set the modification time: changes of entries before it do not count.
    pub modified_set_at: Timestamp,
}

/// One shrinking of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Its number in the file's history, from 1.
    pub sequence: u64,
    /// The size that the file shrank to, in bytes.
    pub size: u64,
}

/// The shrinkings of a file, as far as they still matter.
///
/// Chunks that last heard of number *s* must lose what lies beyond the smallest size of all later
/// ones, and a writer that was told *s* must not write there. Only that minimum matters, so an entry
/// whose size is not below that of a later one is dropped: sizes rise with the sequence, and the
/// last entry is the latest shrinking.
///
/// Invariant I13: a home tells every truncation to every server that it has admitted to the file,
/// in the order of the channel, and tells a server that it admits the latest number. Steps are
/// joined only when all have confirmed. So no server that is admitted has heard of less than a
/// joined step, and a joined step's smallest size is never taken for one that it missed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncations {
    /// The number of the latest shrinking; 0 if there was none.
    pub latest: u64,
    /// The shrinkings that count, oldest first.
    pub steps: Vec<Truncation>,
}

impl Truncations {
    /// The most steps that are kept. A home that has as many joins old ones before it shrinks the
    /// file further, once the servers have confirmed them.
    pub const STEPS_MAX: usize = 16;

    /// Whether the oldest steps must be joined before the next shrinking.
    pub const fn is_full(&self) -> bool {
        self.steps.len() >= Self::STEPS_MAX
    }

    /// Joins the older half of the steps. All servers must have heard of them: whoever was told less
    /// than one of them is taken to have missed the smallest.
    pub fn join_oldest(&mut self) {
        let joined = self.steps.len() / 2;
        if let (Some(first), Some(last)) = (self.steps.first(), self.steps.get(joined)) {
            let (size, sequence) = (first.size, last.sequence);
            self.steps.drain(..=joined);
            self.steps.insert(0, Truncation { sequence, size });
        }
    }

    /// Adds a shrinking to `size` bytes and returns its number.
    pub fn shrink(&mut self, size: u64) -> u64 {
        self.latest += 1;
        self.steps.retain(|step| step.size < size);
        self.steps.push(Truncation {
            sequence: self.latest,
            size,
        });
        self.latest
    }

    /// The size beyond which chunks that last heard of `heard` hold nothing any more.
    pub fn limit_since(&self, heard: u64) -> Option<u64> {
        self.steps
            .iter()
            .find(|step| step.sequence > heard)
            .map(|step| step.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_chunk_is_cut_at_the_smallest_size_it_missed() {
        let mut truncations = Truncations::default();
        for size in [100, 10, 50] {
            truncations.shrink(size);
        }
        assert_eq!(truncations.limit_since(0), Some(10));
        assert_eq!(truncations.limit_since(2), Some(50));
        assert_eq!(truncations.limit_since(3), None);
        assert_eq!(truncations.steps.len(), 2);
    }

    #[test]
    fn joined_steps_cut_rather_more_than_less() {
        let mut truncations = Truncations::default();
        while !truncations.is_full() {
            truncations.shrink(10 + truncations.latest);
        }
        let before = truncations.clone();
        truncations.join_oldest();
        assert!(!truncations.is_full());
        for heard in 0..=truncations.latest {
            let (new, old) = (truncations.limit_since(heard), before.limit_since(heard));
            assert!(
                new <= old && new.is_some() == old.is_some(),
                "{heard}: {new:?} {old:?}"
            );
        }
        let latest = truncations.latest;
        assert_eq!(
            truncations.limit_since(latest - 1),
            before.limit_since(latest - 1)
        );
    }
}
