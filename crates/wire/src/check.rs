//! The vocabulary of checking and repairing: records as a check sees them, and what mends them.

use alloc::boxed::Box;
use futago_base::{
    BucketStart, ChunkId, FileId, Name,
    record::{Entry, Header, Inode},
};
use serde::{Deserialize, Serialize};

/// A record as a check sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inspected {
    /// An inode.
    Inode {
        /// The file.
        id: FileId,
        /// Its attributes.
        inode: Box<Inode>,
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
        /// The entry.
        entry: Entry,
    },
    /// A chunk, and the bytes that it holds up to its last one.
    Chunk {
        /// The chunk.
        chunk: ChunkId,
        /// The byte after its last one.
        end: u32,
    },
    /// That a server takes chunks of a file whose home is elsewhere.
    Admitted {
        /// The file.
        file: FileId,
        /// The file's latest shrinking of which these chunks have heard.
        heard: u64,
    },
}

/// Which record it is. An inspection lists them in the order of these sorts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InspectedKey {
    /// An inode.
    Inode(FileId),
    /// A bucket's header.
    Header(FileId, BucketStart),
    /// An entry.
    Entry(FileId, Name),
    /// A chunk.
    Chunk(ChunkId),
    /// The admission of a file's chunks.
    Admitted(FileId),
}

impl Inspected {
    /// Which record it is.
    pub fn key(&self) -> InspectedKey {
        match self {
            Self::Inode { id, .. } => InspectedKey::Inode(*id),
            Self::Header {
                directory, bucket, ..
            } => InspectedKey::Header(*directory, *bucket),
            Self::Entry {
                directory, name, ..
            } => InspectedKey::Entry(*directory, name.clone()),
            Self::Chunk { chunk, .. } => InspectedKey::Chunk(*chunk),
            Self::Admitted { file, .. } => InspectedKey::Admitted(*file),
        }
    }
}

/// A change of one server's records that mends a piece of damage. Each is safe to repeat. It is made
/// as it is asked for: nothing else is counted, moved or looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Repair {
    /// Puts a record, in place of what is there. A chunk becomes as long as said, with zeros.
    Put(Inspected),
    /// Removes a record; with an inode its extended attributes, with a chunk its data.
    Remove(InspectedKey),
    /// Makes the root directory's inode anew, as in a new cluster.
    MakeRoot,
    /// Removes a file that nobody uses: its inode, and its chunks on all servers.
    RemoveFile(FileId),
    /// Sets a file's count of links.
    SetLinks(FileId, u32),
    /// Sets a directory's parent.
    SetParent(FileId, FileId),
    /// Counts a bucket's entries anew.
    RecountBucket(FileId, BucketStart),
    /// Takes away what the server holds of a file beyond a size.
    Cut {
        /// The file.
        file: FileId,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// In bytes.
        size: u64,
    },
}
