//! What a server answers to a client.

use crate::check::{Inspected, InspectedKey};
use crate::step::{Inherited, NewDirectory};
use alloc::{boxed::Box, vec::Vec};
use bytes::Bytes;
use futago_base::{
    Attributes, BucketStart, Errno, FileId, Name, Space, Timestamp, XattrName,
    record::{Entry, Header, HeaderSum, RangeLock, TransactionState, Truncations},
};
use serde::{Deserialize, Serialize};

/// The answer to a request.
pub type Outcome = Result<Reply, Failure>;

/// Why a request was not done. Nothing of it has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// An error for the caller of the file system.
    Errno(Errno),
    /// The bucket has been split and does not cover the name any more: it is at `level` now.
    Moved {
        /// The bucket that was asked.
        bucket: BucketStart,
        /// Its level.
        level: u8,
    },
    /// This server has no such bucket: it is still on its way here, or the directory is gone. The
    /// directory's home knows which.
    NoBucket,
    /// What a transaction relied on has changed: look again.
    Changed,
    /// The transaction was aborted by another.
    Aborted,
    /// The server has given up on the session, with its locks and open files.
    SessionExpired,
    /// A late copy of a request whose answer the client already has.
    Late,
    /// The server has too much to do, or waits for something to finish: send it again later.
    Busy,
    /// The request belongs to another server, or names a place that the cluster does not have.
    WrongServer,
    /// The server has not heard of the file from its home: it will in a moment, or it has lost what
    /// it had of the file.
    NotAdmitted,
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// A file as its home knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Its attributes. For a directory with several buckets those of the first bucket only.
    pub attributes: Attributes,
    /// What only directories have.
    pub directory: Option<DirectoryState>,
    /// The client that asked has a lease on the file from now on, by the number of its request: it is told
    /// before the home changes anything that concerns the file, unless the client asks for it itself.
    pub leased: bool,
    /// The lease covers a file's data, too: nobody changes it before the home was told of it.
    pub data_leased: bool,
    /// The lease is exclusive: others are not told anything of the file, nor read it, before it was called back.
    pub exclusive: bool,
}

/// A directory as its home knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryState {
    /// The directory above.
    pub parent: FileId,
    /// The header of the first bucket.
    pub header: Header,
    /// When a user last set the modification time; the headers' times count only if later.
    pub modified_set_at: Timestamp,
    /// The modification time that was set then.
    pub modified_set_to: Timestamp,
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedEntry {
    /// Its name.
    pub name: Name,
    /// What it leads to.
    pub entry: Entry,
    /// The attributes, if the file is no directory, its inode is on the bucket's server, and nobody has an exclusive
    /// lease on it.
    pub attributes: Option<Attributes>,
}

/// What a server did or found. File data, if any, is the answer's payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done.
    Done,
    /// A name, and the file's state if it is at home on the same server.
    Found {
        /// What the name leads to.
        entry: Entry,
        /// The file.
        state: Option<FileState>,
        /// Whether this request made it.
        created: bool,
        /// The directory of the name as it is now, if the client takes leases: after a change, and with the first
        /// name that it looks up.
        directory: Option<Box<FileState>>,
    },
    /// The new directory belongs to another server: make it there and put an entry in this bucket, in
    /// one transaction that also checks what was inherited.
    Elsewhere {
        /// The directory.
        new: NewDirectory,
        /// What it inherits from the bucket's header.
        inherited: Inherited,
    },
    /// Entries of a bucket.
    Listing {
        /// In the order of (hash, name).
        entries: Vec<ListedEntry>,
        /// Whether the bucket has no more.
        complete: bool,
        /// The bucket's level, which tells where the next bucket starts.
        level: u8,
    },
    /// A bucket's header.
    Header(Header),
    /// Files, in the order in which they were asked for.
    Files(Vec<Result<FileState, Errno>>),
    /// One file.
    File(FileState),
    /// A file that is now registered as open.
    Opened(FileState),
    /// Where a read, write or append took place and how the file stands after it.
    Extent {
        /// The offset of the read or write; the one handed out for an append.
        offset: u64,
        /// How many bytes of the payload were stored.
        stored: u32,
        /// The file's size.
        size: u64,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// Up to where chunks may be written before the home has been told, in bytes.
        writable: u64,
        /// How far there may be chunks besides the first one, in bytes: beyond there is nothing but
        /// holes.
        reach: u64,
        /// The file's shrinkings.
        truncations: Truncations,
        /// The file as it is now, if the request has changed it and the client takes leases.
        state: Option<Box<FileState>>,
    },
    /// A symbolic link's target, an extended attribute's value or a status text.
    Bytes(Bytes),
    /// Names of extended attributes.
    Names(Vec<XattrName>),
    /// The lock that is in the way, if any.
    Lock(Option<RangeLock>),
    /// An offset within the file, if there is one.
    Offset(Option<u64>),
    /// The steps are reserved; the identity that was drawn for a new directory, if one is made.
    Prepared(Option<FileId>),
    /// How the transaction was decided.
    Decided(TransactionState),
    /// A number.
    Number(u64),
    /// How full the server is.
    Space(Space),
    /// Records, and where to go on.
    Records {
        /// The records.
        records: Vec<Inspected>,
        /// The position to continue after; `None` at the end.
        next: Option<InspectedKey>,
    },
    /// What several buckets of a directory count together.
    HeaderSum(HeaderSum),
}

/// A client's right to be told before a node changes at its home: before its attributes do, and of a
/// directory that has one bucket the names in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The file or directory.
    pub node: FileId,
    /// The number of the request that the client was given it for.
    pub number: u64,
}

/// A lease that a server wants back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecall {
    /// The lease.
    pub lease: Lease,
    /// The number of the first request that it was given for. If that made a file that is open from the start, the client
    /// must have its answer before it gives the lease back: only then it knows what to register.
    pub since: u64,
}

/// What a server tells a client without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Push {
    /// How many requests the client may have under way on this connection.
    Credits(u32),
    /// A node is about to change. The client gives its lease back, with
    /// [`Request::GiveBack`](crate::Request::GiveBack), as soon as it relies on it no more.
    Recall(LeaseRecall),
}
