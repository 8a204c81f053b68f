//! The record of a file's attributes, at the file's home.

use crate::{FileId, Kind, Timestamp};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A file's attributes and further state that its home needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inode {
    /// The kind of node.
    pub kind: Kind,
    /// The low 12 bits of `st_mode`.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names. A directory's `st_nlink` is computed from its headers instead.
    pub links: u32,
    /// Whether it was created without a name (`O_TMPFILE`) and may be linked although it has no
    /// links.
    pub linkable: bool,
    /// Device number of a device node.
    pub device: u32,
    /// Size in bytes of a regular file or symbolic link.
    pub size: u64,
    /// The end of the range in which chunks may exist, in bytes. The servers of all chunks below it
    /// know of the file, and no chunk lies beyond (invariant I11). It never falls.
    pub reach: u64,
    /// Whether chunks may be written up to `reach` before the size covers them, which holds while
    /// the file is open. The last close removes chunks that a vanished client has left beyond the
    /// size.
    pub ahead: bool,
    /// Whether there may be holes below the size.
    pub sparse: bool,
    /// Whether the home is notified before chunks change, so that leases on the file cover its
    /// data.
    pub announced: bool,
    /// Whether the data of the file is elsewhere, in the store behind the cluster. It has none here
    /// then (invariant I16).
    pub released: bool,
    /// Bytes per chunk.
    pub chunk_bytes: u32,
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the contents. For a directory it is the time that a user set last.
    pub modified: Timestamp,
    /// Last change of the attributes.
    pub changed: Timestamp,
    /// Birth.
    pub born: Timestamp,
    /// The past truncations that chunks may not have heard of.
    pub truncations: Truncations,
    /// The number of servers that have not yet confirmed that they truncated their chunks.
    pub cuts_pending: u32,
    /// The target of a symbolic link, empty otherwise.
    pub target: Bytes,
    /// The position of a directory in the tree.
    pub place: Option<DirectoryPlace>,
}

/// State that only directories have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryPlace {
    /// The parent directory; the root is its own parent.
    pub parent: FileId,
    /// When a user last set the modification time. Earlier changes of entries do not count.
    pub modified_set_at: Timestamp,
}

/// One truncation of a file to a smaller size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Its number in the file's history, from 1.
    pub sequence: u64,
    /// The size after the truncation, in bytes.
    pub size: u64,
}

/// The truncations of a file, as far as they still matter.
///
/// A chunk that last heard of number *s* must lose all bytes beyond the smallest size of all later
/// truncations. A writer that knows only number *s* must not write beyond it either. Only that
/// minimum matters, so a step whose size is not below the size of a later one is dropped. So sizes
/// rise with the sequence, and the last step is the latest truncation.
///
/// Invariant I13: a home sends every truncation to every server that it has admitted to the file,
/// in the order of the channel. When it admits a server, it sends the latest number. Steps are
/// joined only when all servers have confirmed. So every admitted server has heard of each joined
/// step, and never applies the smallest size of a joined step to a chunk that had not missed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncations {
    /// The number of the latest truncation; 0 if there was none.
    pub latest: u64,
    /// The truncations that still matter, oldest first.
    pub steps: Vec<Truncation>,
}

impl Truncations {
    /// The most steps that are stored. A home with this many joins the oldest, once the servers
    /// have confirmed them, before it truncates the file again.
    pub const STEPS_MAX: usize = 16;

    /// Whether the oldest steps must be joined before the next truncation.
    pub const fn is_full(&self) -> bool {
        self.steps.len() >= Self::STEPS_MAX
    }

    /// Joins the older half of the steps. All servers must have heard of them, because a server
    /// that has not is assumed to have missed the smallest size.
    pub fn join_oldest(&mut self) {
        let joined = self.steps.len() / 2;
        if let (Some(first), Some(last)) = (self.steps.first(), self.steps.get(joined)) {
            let (size, sequence) = (first.size, last.sequence);
            self.steps.drain(..=joined);
            self.steps.insert(0, Truncation { sequence, size });
        }
    }

    /// Adds a truncation to `size` bytes and returns its number.
    pub fn truncate(&mut self, size: u64) -> u64 {
        self.latest = self.latest.saturating_add(1);
        self.steps.retain(|step| step.size < size);
        self.steps.push(Truncation {
            sequence: self.latest,
            size,
        });
        self.latest
    }

    /// The size beyond which chunks that last heard of `heard` hold no data any more.
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
            truncations.truncate(size);
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
            truncations.truncate(10 + truncations.latest);
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
