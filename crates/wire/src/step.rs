//! The steps of a transaction: what `rename`, `link`, `rmdir`, a `mkdir` on another server and
//! attribute changes of wide directories consist of. And the vocabulary of checking and repairing.

use alloc::vec::Vec;
use futago_base::{
    BucketStart, ChunkId, FileId, Kind, Name, Partition,
    record::{Entry, Header},
};
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

/// How far an inspection has come: the last record that was listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InspectCursor {
    /// An inode.
    Inode(FileId),
    /// A bucket.
    Header(FileId, BucketStart),
    /// An entry.
    Entry(FileId, futago_base::NameHash, Name),
    /// A chunk.
    Chunk(ChunkId),
}

/// A record as a check sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inspected {
    /// An inode: identity, kind, links, size, largest size, parent of a directory, open registrations.
    Inode {
        /// The file.
        id: FileId,
        /// What it is.
        kind: Kind,
        /// Its count of names.
        links: u32,
        /// Its size in bytes.
        size: u64,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// A directory's parent.
        parent: Option<FileId>,
        /// Whether somebody has it open.
        open: bool,
    },
    /// A bucket's header.
    Header {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// The header.
        header: Header,
    },
    /// An entry.
    Entry {
        /// The directory.
        directory: FileId,
        /// The name.
        name: Name,
        /// What it leads to.
        entry: Entry,
    },
    /// A chunk, and the bytes that it holds up to its last one.
    Chunk {
        /// The chunk.
        chunk: ChunkId,
        /// The byte after its last one.
        end: u32,
    },
}

/// A repair of one piece of damage. Each is safe to repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Repair {
    /// Removes an entry that leads nowhere.
    RemoveEntry(Spot),
    /// Removes an inode that no entry leads to, with its attributes and chunk 0.
    RemoveInode(FileId),
    /// Puts an entry for a node that had lost its name.
    PutEntry(Spot, Entry),
    /// Sets a file's count of links.
    SetLinks(FileId, u32),
    /// Sets a directory's parent.
    SetParent(FileId, FileId),
    /// Counts a bucket's entries anew.
    RecountBucket(FileId, BucketStart),
    /// Removes the header and the entries of a bucket whose directory is gone.
    RemoveBucket(FileId, BucketStart),
    /// Removes chunks of a file that is gone, or that lie beyond its size.
    RemoveChunks(Vec<ChunkId>),
    /// Puts damage into the records, so that checks can be tested: only a server that was started
    /// for tests accepts it.
    Plant(alloc::boxed::Box<Damage>),
}

/// Damage to plant in a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Damage {
    /// An entry that leads to a file that does not exist.
    DanglingEntry(Spot, Entry),
    /// An entry vanishes, but its inode stays.
    LostEntry(Spot),
    /// A wrong count of links.
    Links(FileId, u32),
    /// A wrong parent.
    Parent(FileId, FileId),
    /// Wrong counts in a header.
    Counts(FileId, BucketStart, u64),
    /// A chunk of a file that does not exist, or beyond a file's size.
    Chunk(ChunkId),
    /// An inode without a name.
    Inode(FileId, Kind),
    /// A bucket of a directory that does not exist.
    Bucket(FileId, BucketStart),
}
