//! The vocabulary of checks and repairs: records as a check sees them, and the changes that repair
//! them.

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
        /// Whether a client has it open.
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
    /// A chunk and the extent of its data.
    Chunk {
        /// The chunk.
        chunk: ChunkId,
        /// The byte after the last byte of data.
        end: u32,
    },
    /// The admission of chunks of a file whose home is on another server.
    Admitted {
        /// The file.
        file: FileId,
        /// The latest truncation that these chunks have heard of.
        heard: u64,
    },
}

/// The identity of an inspected record. An inspection lists records in the order of these variants.
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
    /// The identity of the record.
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

/// A change of one server's records that repairs one damage.
///
/// Each is safe to repeat. It has no side effects: no other record is counted, moved or checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Repair {
    /// Puts a record and replaces an existing one. A chunk gets the given length; its data is
    /// zeros.
    Put(Inspected),
    /// Removes a record. An inode goes with its extended attributes, a chunk with its data.
    Remove(InspectedKey),
    /// Creates the root directory's inode as in a new cluster.
    MakeRoot,
    /// Removes a file that is not in use: its inode, and its chunks on all servers.
    RemoveFile(FileId),
    /// Sets a file's count of links.
    SetLinks(FileId, u32),
    /// Sets a directory's parent.
    SetParent(FileId, FileId),
    /// Recounts a bucket's entries.
    RecountBucket(FileId, BucketStart),
    /// Removes the server's data of a file beyond a size.
    Cut {
        /// The file.
        file: FileId,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The size, in bytes.
        size: u64,
    },
}
