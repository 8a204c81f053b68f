//! Parts of the messages of a search.

use crate::Failure;
use alloc::{boxed::Box, vec::Vec};
use futago_base::{Attributes, BucketStart, FileId, Name, NameHash, record::Entry};
use serde::{Deserialize, Serialize};

/// The information that a search wants about a file that matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Only how many there are.
    Count,
    /// Their names and kinds.
    #[default]
    Name,
    /// Their attributes, too.
    Attributes,
}

/// A part of a directory to search: the entries of a bucket whose hashes are larger than `after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// The directory.
    pub directory: FileId,
    /// The bucket.
    pub bucket: BucketStart,
    /// Names with a larger hash only.
    pub after: NameHash,
    /// Whether entries that match are wanted.
    pub matches: bool,
    /// Whether subdirectories are wanted, to search them next.
    pub subdirectories: bool,
}

/// An entry that a search has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundEntry {
    /// Its name.
    pub name: Name,
    /// The target of the name.
    pub entry: Entry,
    /// Its attributes, if they are wanted.
    pub attributes: Option<Box<Attributes>>,
}

/// A subdirectory that a search has met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subdirectory {
    /// Its name.
    pub name: Name,
    /// The directory.
    pub id: FileId,
}

/// Where a scan has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScanEnd {
    /// At the end of the bucket.
    Bucket {
        /// The bucket's level, from which the start of the next bucket follows.
        #[serde(deserialize_with = "futago_base::deserialize_level")]
        level: u8,
    },
    /// After this hash, because the server has done its share of work for one request.
    After {
        /// The hash.
        after: NameHash,
        /// The bucket's level.
        #[serde(deserialize_with = "futago_base::deserialize_level")]
        level: u8,
    },
    /// Before it began, because the server has done its share of work.
    NotBegun,
    /// The bucket cannot be scanned here.
    Failed(Failure),
}

/// The result of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    /// How many entries match.
    pub matches: u64,
    /// These entries, unless only their number is wanted.
    pub found: Vec<FoundEntry>,
    /// Entries that may match: this server does not have their attributes, or does not know them
    /// exactly. Their homes decide by [`Request::TestFiles`](crate::Request::TestFiles).
    pub undecided: Vec<FoundEntry>,
    /// The subdirectories, if they are wanted.
    pub subdirectories: Vec<Subdirectory>,
    /// Where the scan has ended.
    pub end: ScanEnd,
}

impl Scanned {
    /// A scan that has found nothing.
    pub const fn nothing(end: ScanEnd) -> Self {
        Self {
            matches: 0,
            found: Vec::new(),
            undecided: Vec::new(),
            subdirectories: Vec::new(),
            end,
        }
    }
}

/// The decision of a file's home about its attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// They pass the tests. They are in the reply if they are wanted.
    Passes(Option<Box<Attributes>>),
    /// They do not.
    Fails,
    /// The file has been removed.
    Gone,
    /// A directory whose names are on several servers: only all of them know its attributes.
    Spread,
}
