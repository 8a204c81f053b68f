//! Records of directories: entries and the headers of their buckets.

use crate::{BucketStart, FileId, Kind, Timestamp};
use serde::{Deserialize, Serialize};

/// What a name in a directory leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The file.
    pub id: FileId,
    /// What sort of node it is; it never changes.
    pub kind: Kind,
}

/// The head of a bucket: kept beside its entries and changed in the same batch as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// How often the range of hashes was halved to get this bucket's.
    pub level: u8,
    /// Copy of the directory's permission bits: new entries inherit by set-group-id.
    pub mode: u16,
    /// Copy of the directory's group.
    pub gid: u32,
    /// How many directories lie between the root and this one; the root has 0. A hint for placement
    /// that a rename does not update.
    pub depth: u16,
    /// Number of entries in this bucket.
    pub entries: u64,
    /// How many of them are directories.
    pub subdirectories: u32,
    /// Number of entries' locators in this bucket: names that a transaction is about to change.
    pub pending: u32,
    /// When an entry last came or went.
    pub modified: Timestamp,
}

/// What several buckets of a directory count together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderSum {
    /// How many hashes the buckets cover.
    pub hashes: u64,
    /// Number of entries.
    pub entries: u64,
    /// How many of them are directories.
    pub subdirectories: u32,
    /// When an entry last came or went.
    pub modified: Timestamp,
}

impl HeaderSum {
    /// Adds a bucket.
    pub fn add(&mut self, header: &Header) {
        self.join(&Self {
            hashes: BucketStart::width(header.level),
            entries: header.entries,
            subdirectories: header.subdirectories,
            modified: header.modified,
        });
    }

    /// Adds what other buckets count together. Numbers that make no sense stay at the largest.
    pub fn join(&mut self, other: &Self) {
        self.hashes = self.hashes.saturating_add(other.hashes);
        self.entries = self.entries.saturating_add(other.entries);
        self.subdirectories = self.subdirectories.saturating_add(other.subdirectories);
        self.modified = self.modified.max(other.modified);
    }

    /// Whether the buckets are all that the directory has. While a bucket moves from server to server
    /// it is nowhere, and one that has moved between two questions may be counted twice.
    pub const fn is_whole(&self) -> bool {
        self.hashes == BucketStart::width(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(level: u8, entries: u64) -> Header {
        Header {
            level,
            mode: 0,
            gid: 0,
            depth: 0,
            entries,
            subdirectories: 1,
            pending: 0,
            modified: Timestamp::default(),
        }
    }

    #[test]
    fn a_sum_is_whole_once_every_bucket_is_in_it() {
        let (mut here, mut there) = (HeaderSum::default(), HeaderSum::default());
        here.add(&header(1, 5));
        here.add(&header(2, 7));
        there.add(&header(2, 9));
        assert!(!here.is_whole() && !there.is_whole());
        here.join(&there);
        assert!(here.is_whole());
        assert_eq!((here.entries, here.subdirectories), (21, 3));
    }
}
