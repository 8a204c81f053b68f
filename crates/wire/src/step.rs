//! The steps of a transaction: what `rename`, `link`, `rmdir`, a `mkdir` on another server and
//! attribute changes of wide directories consist of.

use futago_base::{BucketStart, FileId, Partition, record::Entry};
use serde::{Deserialize, Serialize};

use crate::{AttributeChange, Spot};

/// One step of a transaction, for the server that holds what it changes.
///
/// A step is prepared (its condition is checked and its target reserved) and later installed or
/// dropped. A condition that does not hold any more fails with
/// [`Failure::Changed`](crate::Failure::Changed): the client looks again and starts over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Takes a name away.
    RemoveEntry {
        /// The name.
        at: Spot,
        /// What it must lead to.
        expected: Entry,
    },
    /// Puts a name, in place of another entry or of nothing.
    PutEntry {
        /// The name.
        at: Spot,
        /// What it shall lead to.
        entry: Entry,
        /// What it must lead to before.
        replaces: Option<Entry>,
    },
    /// Makes a directory's inode and first bucket. The identity is drawn when it is prepared.
    CreateDirectory(NewDirectory),
    /// Removes a bucket; with the first one, the directory's inode. The bucket must be empty.
    RemoveBucket {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Its level; another means that the client does not know all buckets.
        level: u8,
    },
    /// Adds a name to the count of a file's links. The file must have at least one.
    AddLink(FileId),
    /// Takes a name from the count of a file's links; without the last one the file is gone.
    DropLink(FileId),
    /// Sets the change time of a file that gets another name.
    Touch(FileId),
    /// Changes where a directory hangs.
    SetParent {
        /// The directory.
        directory: FileId,
        /// The directory above it.
        parent: FileId,
    },
    /// Raises the version of the tree's shape, which must be `expected`.
    AdvanceTree {
        /// The version that the client saw before it looked at the tree.
        expected: u64,
    },
    /// Changes a directory's attributes at its home.
    SetAttributes {
        /// The directory.
        directory: FileId,
        /// What to change.
        change: AttributeChange,
    },
    /// Changes a bucket's copy of its directory's attributes.
    SetHeader {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Its level.
        level: u8,
        /// New permission bits.
        mode: Option<u16>,
        /// New group.
        gid: Option<u32>,
    },
    /// Changes nothing: what a new directory has inherited from a bucket must still be so.
    Inherit {
        /// The directory above the new one.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// What was inherited.
        inherited: Inherited,
    },
    /// Changes nothing: what a client has seen must still be so.
    Expect(Fact),
}

/// Something that a client has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// What a name leads to, or that it does not exist.
    Entry {
        /// The name.
        at: Spot,
        /// What it leads to.
        entry: Option<Entry>,
    },
    /// A bucket with names in it.
    NotEmpty {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// Its level.
        level: u8,
    },
    /// A file that could be given another name.
    Linkable(FileId),
}

/// What new nodes inherit from their directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inherited {
    /// Whether the directory has its set-group-id bit, which hands down itself and the group.
    pub set_gid: bool,
    /// The directory's group.
    pub gid: u32,
}

/// A directory to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDirectory {
    /// Its home.
    pub home: Partition,
    /// The directory above.
    pub parent: FileId,
    /// Permission bits, with the inherited set-group-id bit.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group, inherited if it is to be.
    pub gid: u32,
    /// How many directories lie between it and the root.
    pub depth: u16,
}
