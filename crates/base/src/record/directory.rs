//! Records of directories: entries and the headers of their buckets.

use crate::{BucketStart, FileId, Kind, Timestamp};
use serde::{Deserialize, Serialize};

/// The target of a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The file.
    pub id: FileId,
    /// The kind of node, which never changes.
    pub kind: Kind,
}

/// The header of a bucket. It changes in the same batch as the bucket's entries (invariant I7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The number of halvings of the range of hashes that lead to this bucket.
    #[serde(deserialize_with = "crate::deserialize_level")]
    pub level: u8,
    /// Copy of the directory's permission bits, because new entries inherit by set-group-id.
    pub mode: u16,
    /// Copy of the directory's group.
    pub gid: u32,
    /// Copy of the directory's chunk size for new files, in bytes; 0 if it has none.
    pub chunk_bytes: u32,
    /// The number of directories between the root and this one; 0 for the root. It is a hint for
    /// placement that a rename does not update.
    pub depth: u16,
    /// Number of entries in this bucket.
    pub entries: u64,
    /// How many of them are directories.
    pub subdirectories: u32,
    /// Number of locators of entries in this bucket: names that a transaction is about to change. A
    /// bucket with locators does not split (invariant I2).
    pub pending: u32,
    /// Time of the last insertion or removal of an entry.
    pub modified: Timestamp,
}

/// The sum of several buckets' headers of one directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderSum {
    /// The number of hashes that the buckets cover.
    pub hashes: u64,
    /// Number of entries.
    pub entries: u64,
    /// How many of them are directories.
    pub subdirectories: u32,
    /// Time of the last insertion or removal of an entry.
    pub modified: Timestamp,
}

impl From<&Header> for HeaderSum {
    fn from(header: &Header) -> Self {
        Self {
            hashes: BucketStart::width(header.level),
            entries: header.entries,
            subdirectories: header.subdirectories,
            modified: header.modified,
        }
    }
}

impl HeaderSum {
    /// Adds a bucket.
    pub fn add(&mut self, header: &Header) {
        self.join(&Self::from(header));
    }

    /// Adds the sum of other buckets. Sums saturate, because hostile numbers must not overflow.
    pub fn join(&mut self, other: &Self) {
        self.hashes = self.hashes.saturating_add(other.hashes);
        self.entries = self.entries.saturating_add(other.entries);
        self.subdirectories = self.subdirectories.saturating_add(other.subdirectories);
        self.modified = self.modified.max(other.modified);
    }

    /// The number of entries of one bucket at `level` if names are evenly distributed.
    pub fn entries_of_bucket(&self, level: u8) -> u64 {
        let width = u128::from(BucketStart::width(level));
        let entries = u128::from(self.entries) * width / u128::from(self.hashes.max(1));
        u64::try_from(entries).unwrap_or(u64::MAX)
    }

    /// Whether the buckets are all buckets of the directory.
    ///
    /// A bucket that moves between servers is missing from the sum meanwhile. A bucket that has
    /// moved between two requests may be counted twice.
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
            chunk_bytes: 0,
            depth: 0,
            entries,
            subdirectories: 1,
            pending: 0,
            modified: Timestamp::default(),
        }
    }

    #[test]
    fn entries_of_one_bucket_are_those_of_all_divided_by_their_number() {
        let mut sum = HeaderSum::default();
        assert_eq!(sum.entries_of_bucket(0), 0);
        for _ in 0..4 {
            sum.add(&header(3, 100));
        }
        assert_eq!(sum.entries_of_bucket(3), 100);
        assert_eq!(sum.entries_of_bucket(1), 400);
        sum.entries = u64::MAX;
        sum.hashes = 1;
        assert_eq!(sum.entries_of_bucket(0), u64::MAX);
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
