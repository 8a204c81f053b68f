//! Records of directories: entries and the headers of their buckets.

use crate::{FileId, Kind, Timestamp};
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
