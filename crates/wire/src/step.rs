//! The steps of a transaction. `rename`, `link`, `rmdir`, a `mkdir` on another server and attribute
//! changes of wide directories consist of them.

use futago_base::{BucketStart, FileId, Partition, record::Entry};
use serde::{Deserialize, Serialize};

use crate::{AttributeChange, Spot};

/// One step of a transaction, for the server that holds the changed record.
///
/// A step is prepared and later installed or dropped. To prepare it, the server checks its
/// condition and reserves its target. A condition that no longer holds fails with
/// [`Failure::Changed`](crate::Failure::Changed): the client reads the state again and starts over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Removes a name.
    RemoveEntry {
        /// The name.
        at: Spot,
        /// Its required target.
        expected: Entry,
    },
    /// Adds a name, or replaces the target of an existing one.
    PutEntry {
        /// The name.
        at: Spot,
        /// The new target.
        entry: Entry,
        /// The required previous target; `None` if the name must not exist.
        replaces: Option<Entry>,
    },
    /// Creates a directory's inode and first bucket. The identity is drawn when the step is
    /// prepared.
    CreateDirectory(NewDirectory),
    /// Removes a bucket; with the first one, the directory's inode. The bucket must be empty.
    RemoveBucket {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Its level. A different level means that the client does not know all buckets.
        #[serde(deserialize_with = "futago_base::deserialize_level")]
        level: u8,
    },
    /// Adds a name to the count of a file's links. The file must have at least one.
    AddLink(FileId),
    /// Subtracts a name from the count of a file's links. The file is removed with the last one.
    DropLink(FileId),
    /// Sets the change time of a file that gets another name.
    Touch(FileId),
    /// Changes the parent of a directory.
    SetParent {
        /// The directory.
        directory: FileId,
        /// The new parent.
        parent: FileId,
    },
    /// Raises the version of the tree's shape, which must be `expected`.
    AdvanceTree {
        /// The version that the client read before it read the tree.
        expected: u64,
    },
    /// Changes a directory's attributes at its home.
    SetAttributes {
        /// The directory.
        directory: FileId,
        /// The change.
        change: AttributeChange,
    },
    /// Changes a bucket's copy of its directory's attributes.
    SetHeader {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Its level.
        #[serde(deserialize_with = "futago_base::deserialize_level")]
        level: u8,
        /// New permission bits.
        mode: Option<u16>,
        /// New group.
        gid: Option<u32>,
        /// New chunk size of new files, in bytes; 0 for none.
        chunk_bytes: Option<u32>,
    },
    /// Changes nothing. It checks that a bucket still has the attributes that a new directory
    /// inherited.
    Inherit {
        /// The parent of the new directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// The inherited attributes.
        inherited: Inherited,
    },
    /// Changes nothing. It checks that an observation of the client still holds.
    Expect(Fact),
}

/// An observation of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// The target of a name, or its absence.
    Entry {
        /// The name.
        at: Spot,
        /// The target; `None` if the name does not exist.
        entry: Option<Entry>,
    },
    /// A bucket with names in it.
    NotEmpty {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Its level.
        #[serde(deserialize_with = "futago_base::deserialize_level")]
        level: u8,
    },
    /// A file that may get another name.
    Linkable(FileId),
}

/// The attributes that new nodes inherit from their directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inherited {
    /// Whether the directory has its set-group-id bit, by which new nodes inherit its group, and
    /// new directories the bit itself.
    pub set_gid: bool,
    /// The directory's group.
    pub gid: u32,
    /// The directory's chunk size for new files, in bytes; 0 if it has none.
    pub chunk_bytes: u32,
}

/// A directory to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDirectory {
    /// Its home partition.
    pub home: Partition,
    /// The parent directory.
    pub parent: FileId,
    /// Permission bits, with the inherited set-group-id bit.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group, after inheritance.
    pub gid: u32,
    /// The inherited chunk size of new files, in bytes; 0 for none.
    pub chunk_bytes: u32,
    /// The number of directories between it and the root.
    pub depth: u16,
}
