//! The replies of a server to a client.

use crate::cache::{CopySource, Holder};
use crate::contact::Relayed;
use crate::inspection::{Inspected, InspectedKey};
use crate::search::{Scanned, Verdict};
use crate::step::{Inherited, NewDirectory};
use alloc::{boxed::Box, vec::Vec};
use bytes::Bytes;
use futago_base::{
    Attributes, BucketStart, Errno, FileId, Name, Space, Timestamp, XattrName,
    record::{Entry, Header, HeaderSum, RangeLock, TransactionState, Truncations},
};
use serde::{Deserialize, Serialize};

/// The reply to a request.
pub type Outcome = Result<Reply, Failure>;

/// The reason why a request was not executed. It has had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// An error for the caller of the file system.
    Errno(Errno),
    /// The bucket was split and no longer covers the name.
    Moved {
        /// The requested bucket.
        bucket: BucketStart,
        /// Its level after the split.
        #[serde(deserialize_with = "futago_base::deserialize_level")]
        level: u8,
    },
    /// This server has no such bucket. Either the bucket is still in transfer, or the directory was
    /// removed; the directory's home knows which.
    NoBucket,
    /// An expectation of the transaction no longer holds. The client reads the state again and
    /// retries.
    Changed,
    /// Another transaction aborted this one.
    Aborted,
    /// The server has given up the session, with its locks and open files.
    SessionExpired,
    /// A late copy of a request whose reply the client has already acknowledged.
    Late,
    /// The server is overloaded or waits for an event: the client retries later.
    Busy,
    /// The request belongs to another server, or names a location that the cluster does not have.
    WrongServer,
    /// The server does not know the file. Its admission by the home is under way, or the server has
    /// lost its data of the file.
    NotAdmitted,
    /// The data of the file is in the store behind the cluster. It is being brought, and the client
    /// asks again.
    Released,
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// The state of a file at its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Its attributes. For a directory, they reflect the buckets on its home only.
    pub attributes: Attributes,
    /// State that only directories have.
    pub directory: Option<DirectoryState>,
    /// Grants the requesting client a lease on the file; its number is the number of the request.
    /// The client is notified before the home changes anything of the file, unless the client
    /// itself requests the change.
    pub leased: bool,
    /// The lease covers the file's data, too: the home is notified before any client changes it.
    pub data_leased: bool,
    /// The lease is exclusive: it is recalled before other clients learn anything of the file or
    /// read it.
    pub exclusive: bool,
}

/// The state of a directory at its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryState {
    /// The parent directory.
    pub parent: FileId,
    /// The header of the first bucket.
    pub header: Header,
    /// The sum of the headers of all buckets on the home.
    pub here: HeaderSum,
    /// When a user last set the modification time. Only later times of headers count.
    pub modified_set_at: Timestamp,
    /// The modification time that the user set.
    pub modified_set_to: Timestamp,
}

/// The buckets of a directory on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketsState {
    /// The directory.
    pub directory: FileId,
    /// The sum of their headers.
    pub sum: HeaderSum,
    /// Grants the requesting client a lease on what this server has of the directory.
    pub leased: bool,
}

/// The part of a node that the replying server has.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all parts are those of homes"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The server is the home.
    Home(FileState),
    /// The server has buckets of the directory only.
    Buckets(BucketsState),
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedEntry {
    /// Its name.
    pub name: Name,
    /// The target of the name.
    pub entry: Entry,
    /// The attributes; `None` for a directory, for an inode on another server, and for a file with
    /// an exclusive lease.
    pub attributes: Option<Attributes>,
}

/// The result of a request. File data, if any, is the reply's payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The request is executed.
    Done,
    /// A name, and the file's state if its home is on the same server.
    Found {
        /// The target of the name.
        entry: Entry,
        /// The file.
        state: Option<FileState>,
        /// Whether this request created it.
        created: bool,
        /// The directory of the name as it is now, if the client accepts leases. It is sent after a
        /// change and with the first name that the client looks up.
        directory: Option<Box<Part>>,
    },
    /// The new directory belongs to another server. The client creates it there and adds an entry
    /// to this bucket in one transaction, which also checks the inherited attributes.
    Elsewhere {
        /// The directory.
        new: NewDirectory,
        /// The attributes that it inherits from the bucket's header.
        inherited: Inherited,
    },
    /// Entries of a bucket.
    Listing {
        /// The entries, ordered by hash and name.
        entries: Vec<ListedEntry>,
        /// Whether the bucket has no further entries.
        complete: bool,
        /// The bucket's level, from which the start of the next bucket follows.
        #[serde(deserialize_with = "futago_base::deserialize_level")]
        level: u8,
        /// The directory as it is now, if the client accepts leases and has none on it here.
        directory: Option<Box<Part>>,
    },
    /// A bucket's header.
    Header(Header),
    /// Files, in the requested order.
    Files(Vec<Result<FileState, Errno>>),
    /// One file.
    File(FileState),
    /// A file that is registered as open.
    Opened(FileState),
    /// The range of a read, write or append, and the file's state afterwards.
    Extent {
        /// The offset of the read or write; for an append the offset that was granted.
        offset: u64,
        /// The bytes of the payload that were stored.
        stored: u32,
        /// The file's size.
        size: u64,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The end of the range in which chunks may be written before the home is notified, in
        /// bytes.
        writable: u64,
        /// The end of the range in which chunks other than the first may exist, in bytes. The file
        /// has only holes beyond it.
        reach: u64,
        /// The file's truncations.
        truncations: Truncations,
        /// The file as it is now, if the request has changed it and the client accepts leases.
        state: Option<Box<FileState>>,
    },
    /// A symbolic link's target, an extended attribute's value or a status text.
    Bytes(Bytes),
    /// Names of extended attributes.
    Names(Vec<XattrName>),
    /// The conflicting lock; `None` if there is none.
    Lock(Option<RangeLock>),
    /// An offset within the file; `None` if there is none.
    Offset(Option<u64>),
    /// The steps are reserved. The value is the identity of a new directory, if the steps create
    /// one. The reply survives a loss of power, as that of [`Reply::Decided`] does, because other
    /// servers act upon it.
    Prepared(Option<FileId>),
    /// The decision about the transaction.
    Decided(TransactionState),
    /// A number.
    Number(u64),
    /// The occupancy of the server.
    Space(Space),
    /// Records, and the position to continue from.
    Records {
        /// The records.
        records: Vec<Inspected>,
        /// The position to continue after; `None` at the end.
        next: Option<InspectedKey>,
    },
    /// The buckets of a directory on this server.
    Buckets(BucketsState),
    /// The results of the scans of a search, in the requested order.
    Scanned(Vec<Scanned>),
    /// Which files pass the tests of a search, in the requested order.
    Tested(Vec<Verdict>),
    /// The entries of a directory on one server.
    ListedHere {
        /// The entries, ordered by hash and name, without attributes.
        entries: Vec<ListedEntry>,
        /// Whether there are no further ones.
        complete: bool,
    },
    /// A fact from the cache of a contact server; `None` if the client is to ask the home.
    Relayed(Option<Box<Relayed>>),
    /// Released files to restore.
    Wanted(Vec<FileId>),
    /// The steps are executed. The value is as that of [`Reply::Prepared`].
    Executed(Option<FileId>),
    /// All that the server has executed before survives a loss of power.
    Synchronized,
    /// Clients that share their caches.
    Sharers {
        /// The clients.
        sharers: Vec<Holder>,
        /// Whether there are no further ones.
        complete: bool,
    },
    /// Where to read pieces of a file.
    Copies {
        /// Clients that probably have some of them.
        holders: Vec<Holder>,
        /// For each piece in order the client to ask, or `None` for the servers. It is empty if the
        /// home grants no lease that covers the file's data.
        sources: Vec<Option<CopySource>>,
    },
}

impl Reply {
    /// Whether what the reply tells must survive a loss of power before it leaves.
    pub const fn promises_durability(&self) -> bool {
        matches!(
            self,
            Self::Prepared(_) | Self::Decided(_) | Self::Synchronized
        )
    }
}

/// A client's right to be notified before a server changes what it has of a node. At the node's
/// home that is the inode, and on each server the buckets of a directory with their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The file or directory.
    pub node: FileId,
    /// The number of the request that it was granted for.
    pub number: u64,
}

/// A lease that a server recalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecall {
    /// The lease.
    pub lease: Lease,
    /// The number of the first request that the lease was granted for. That request may have
    /// created a file that is open from the start. Then the client must receive its reply before it
    /// returns the lease, because only the reply names the file to register.
    pub since: u64,
}

/// A message from a server to a client that is not a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Push {
    /// The number of requests that the client may have in flight on this connection.
    Credits(u32),
    /// Nodes are about to change. The client returns its leases with
    /// [`Request::GiveBack`](crate::Request::GiveBack) as soon as it no longer relies on them.
    Recall(Vec<LeaseRecall>),
}
