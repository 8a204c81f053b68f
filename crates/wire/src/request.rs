//! The requests of a client to a server.

use crate::{
    Lease, Question, Step,
    search::{Detail, Scan},
};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{
    BucketStart, ChunkId, Errno, FileId, Name, NameHash, ServerId, SessionId, Time, Timestamp,
    TransactionId, XattrName,
    record::{Door, LockKind, LockRange, LockSpace, Truncations},
    search::Tests,
};
use serde::{Deserialize, Serialize};

/// The location of a name: the bucket of the directory that covers its hash, as far as the client
/// knows. The server of the bucket corrects the client if the bucket has been split since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The directory.
    pub directory: FileId,
    /// The requested bucket.
    pub bucket: BucketStart,
    /// The name.
    pub name: Name,
}

/// The kind and content of a new node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewContent {
    /// A regular file. The request's payload is its first data.
    File {
        /// Bytes per chunk.
        chunk_bytes: u32,
    },
    /// A regular file with the chunk size of its directory. First data beyond the first chunk is
    /// not stored.
    InheritingFile {
        /// Bytes per chunk if the directory has no chunk size.
        default_chunk_bytes: u32,
    },
    /// A regular file whose data is in the store behind the cluster. A client restores it when
    /// another one needs it.
    ReleasedFile {
        /// Bytes per chunk if the directory has no chunk size.
        default_chunk_bytes: u32,
        /// The size of the file, in bytes.
        size: u64,
    },
    /// A symbolic link to this path.
    Symlink(Bytes),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device of this number.
    CharacterDevice(u32),
    /// A block device of this number.
    BlockDevice(u32),
}

/// A node to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewNode {
    /// Its kind and content.
    pub content: NewContent,
    /// Permission bits, the low 12 bits of `st_mode`; the umask has been applied.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group, unless the directory's set-group-id bit overrides it.
    pub gid: u32,
}

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetTime {
    /// The server's current time.
    Now,
    /// This time.
    To(Timestamp),
}

/// A change of attributes; `None` leaves an attribute unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeChange {
    /// The low 12 bits of `st_mode`.
    pub mode: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes of a regular file.
    pub size: Option<u64>,
    /// The chunk size of new files in a directory, in bytes; 0 for none.
    pub chunk_bytes: Option<u32>,
    /// Last access.
    pub accessed: Option<SetTime>,
    /// Last change of the contents.
    pub modified: Option<SetTime>,
    /// Clears set-user-id, and set-group-id of a group-executable file, because the caller may not
    /// retain them through a change of owner or size.
    pub kill_privileges: bool,
}

/// A lock to test, acquire or release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockChange {
    /// The family of locks.
    pub space: LockSpace,
    /// The kind of lock to acquire; `None` releases.
    pub kind: Option<LockKind>,
    /// The owner within the session.
    pub owner: u64,
    /// The bytes; all of them for [`LockSpace::Whole`].
    pub range: LockRange,
    /// The requesting process.
    pub pid: u32,
}

/// The end of a restoration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The file.
    pub file: FileId,
    /// The reason why its data could not be brought; `None` if all of it is there.
    pub error: Option<Errno>,
}

/// A request of a client to a server. The file data of a request, if any, is its payload.
///
/// `<&str>::from(&request)` is the operation's name, for statistics and logs; `Request::VARIANTS`
/// lists all names.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Request {
    /// Looks up a name. To the bucket's server. Reply: [`Reply::Found`](crate::Reply::Found).
    Lookup(Spot),
    /// Creates a node other than a directory, with the payload as the first data of a file. To the
    /// bucket's server. Reply: [`Reply::Found`](crate::Reply::Found), with attributes if the node
    /// is new or its home is there.
    Create {
        /// The name.
        at: Spot,
        /// The node.
        node: NewNode,
        /// Fail with `EEXIST` if the name exists. Otherwise the existing entry is the reply.
        exclusive: bool,
        /// Register the new file as open by the client's session. If the reply grants a lease on it
        /// ([`FileState::leased`]), the client registers it itself before it returns the lease.
        open: bool,
    },
    /// Creates a regular file without a name, open by the client's session: `O_TMPFILE`. To the
    /// directory's home. Reply: [`Reply::Found`](crate::Reply::Found).
    ///
    /// A transaction that adds a link may name it. Without a name it is removed with its last
    /// close. A character device is created for a rename that leaves a whiteout.
    CreateUnnamed {
        /// The directory whose group the file may inherit.
        directory: FileId,
        /// The node: a regular file or a character device.
        node: NewNode,
    },
    /// Creates a directory. To the bucket's server. Reply: [`Reply::Found`](crate::Reply::Found),
    /// or [`Reply::Elsewhere`](crate::Reply::Elsewhere) if the new directory belongs to another
    /// server.
    MakeDirectory {
        /// The name.
        at: Spot,
        /// Permission bits.
        mode: u16,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
    },
    /// Removes a name that is not a directory's. To the bucket's server. Reply:
    /// [`Reply::Done`](crate::Reply::Done), or [`Reply::File`](crate::Reply::File) with the
    /// directory's state if the client accepts leases.
    Unlink {
        /// The name.
        at: Spot,
        /// The target of the name, if the client knows it under a lease, or has seen it before. The
        /// client does not rely on the target's attributes while the request is under way.
        file: Option<FileId>,
    },
    /// Lists entries of a bucket in the order of their hashes, after `after`. To the bucket's
    /// server. Reply: [`Reply::Listing`](crate::Reply::Listing).
    ReadDirectory {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// List names with a larger hash only.
        after: NameHash,
        /// Stop after about this many entries. Names of one hash are never separated.
        entries_max: u32,
    },
    /// Reads the header of a bucket. To its server. Reply: [`Reply::Header`](crate::Reply::Header).
    GetHeader {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
    },
    /// Reads attributes. To the files' home. Reply: [`Reply::Files`](crate::Reply::Files).
    GetAttributes(Vec<FileId>),
    /// Reads the attributes of a file, and of files that the client expects to need next. Those
    /// whose state the home cannot tell at once are left out. To the files' home. Reply:
    /// [`Reply::Files`](crate::Reply::Files), the file first.
    GetAttributesAhead {
        /// The file.
        id: FileId,
        /// The files that are expected to be needed next.
        ahead: Vec<FileId>,
    },
    /// Recalls the leases of other clients on files that this client expects to change next. To the
    /// files' home. Reply: [`Reply::Done`](crate::Reply::Done), at once.
    RecallAhead(Vec<FileId>),
    /// Changes attributes. To the file's home; not for the mode, owner or group of a directory with
    /// several buckets. Reply: [`Reply::File`](crate::Reply::File).
    SetAttributes {
        /// The file.
        id: FileId,
        /// The change.
        change: AttributeChange,
    },
    /// Reads a symbolic link. To its home. Reply: [`Reply::Bytes`](crate::Reply::Bytes).
    ReadLink(FileId),
    /// Registers the file as open by the client's session. To its home. Reply:
    /// [`Reply::Opened`](crate::Reply::Opened).
    ///
    /// The file exists until its last close, whatever happens to its names (invariant I6).
    Open(FileId),
    /// Removes one registration. Reply: [`Reply::Done`](crate::Reply::Done), or
    /// [`Reply::File`](crate::Reply::File) if the file still exists and the client accepts leases.
    Close(FileId),
    /// Makes all clients notify the file's home before they change chunks on other servers. To its
    /// home. Reply: [`Reply::Done`](crate::Reply::Done).
    ///
    /// Leases on the file cover its data from then on, until its data changes again.
    AnnounceChanges(FileId),
    /// Acquires an exclusive lease on a file, under which the client may buffer its writes. To its
    /// home. Reply: [`Reply::File`](crate::Reply::File).
    ///
    /// The lease is recalled before other clients learn anything of the file. It is not granted
    /// while other clients have the file open or hold leases on it.
    TakeExclusive(FileId),
    /// Makes the client's exclusive lease on a file one that others may hold, too, after a
    /// write-back and [`Request::AnnounceChanges`]. Readers are sent to the cache of the client
    /// from then on. To the file's home. Reply: [`Reply::File`](crate::Reply::File).
    EndExclusive {
        /// The file.
        id: FileId,
        /// Where the client listens.
        door: Door,
    },
    /// Reads at the file's home. Reply: [`Reply::Extent`](crate::Reply::Extent).
    ///
    /// The payload of the reply is the part of `offset..offset+length` within the chunk of
    /// `offset`, clipped to the file's size. It is empty if that chunk is not at home.
    Read {
        /// The file.
        id: FileId,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
    },
    /// Finds clients that probably have pieces of a file in their caches, for a client that shares
    /// its own cache and is about to read the pieces. To the file's home. Reply:
    /// [`Reply::Copies`](crate::Reply::Copies).
    FindCopies {
        /// The file.
        id: FileId,
        /// The number of the first piece.
        first: u64,
        /// How many pieces.
        pieces: u32,
        /// Where the client listens.
        door: Door,
        /// Clients that have not had pieces of the file, or have not answered.
        failed: Vec<SessionId>,
    },
    /// Registers the client as one that shares its cache, until its session ends. To the home of
    /// the root directory. Reply: [`Reply::Done`](crate::Reply::Done).
    Share(Door),
    /// Lists clients that share their caches, in the order of their sessions. To the home of the
    /// root directory. Reply: [`Reply::Sharers`](crate::Reply::Sharers).
    ListSharers {
        /// List sessions with larger numbers only.
        after: SessionId,
    },
    /// Allows a caller that has the file open to write chunks up to `reach` before it reports the
    /// write to the home. Reply: [`Reply::Extent`](crate::Reply::Extent).
    PrepareWrite {
        /// The file.
        id: FileId,
        /// The end of the last chunk to be written, in bytes.
        reach: u64,
    },
    /// Writes at the file's home. The payload goes to `offset`, in a chunk that is at home, too,
    /// and the file's size becomes at least `end`. Reply: [`Reply::Extent`](crate::Reply::Extent).
    ///
    /// It fails with `Changed` if the rest of the write may have been truncated since.
    Write {
        /// The file.
        id: FileId,
        /// The offset of the payload, if there is any.
        offset: u64,
        /// The end of the whole write, which the payload may be the first part of.
        end: u64,
        /// The start of the range that is written completely, by this request or others of the
        /// caller. If the file was shorter, a hole precedes it.
        covered_from: u64,
        /// As [`AttributeChange::kill_privileges`].
        kill_privileges: bool,
        /// When the data was written, if it was buffered under an exclusive lease before it was
        /// sent.
        written: Option<Timestamp>,
        /// The latest truncation that the other chunks of this write had heard of, if they were
        /// written before.
        heard: Option<u64>,
    },
    /// Reserves the next `length` bytes at the end of the file for the caller, and stores the part
    /// of the payload that falls into chunk 0. Reply: [`Reply::Extent`](crate::Reply::Extent), with
    /// the reserved offset.
    ///
    /// If the size in the reply does not cover the range, the file grows only with
    /// [`Request::FinishAppend`].
    Append {
        /// The file.
        id: FileId,
        /// Number of bytes.
        length: u32,
        /// As [`AttributeChange::kill_privileges`].
        kill_privileges: bool,
    },
    /// Reports that the data of a range from [`Request::Append`] is written, so that the file's
    /// size covers it. Reply: [`Reply::Extent`](crate::Reply::Extent).
    ///
    /// The reply waits while other clients write ranges before it. It fails with `Changed` if a
    /// truncation has removed the range since.
    FinishAppend {
        /// The file.
        id: FileId,
        /// First byte.
        from: u64,
        /// The byte after the last.
        to: u64,
        /// As [`AttributeChange::kill_privileges`].
        kill_privileges: bool,
        /// The latest truncation that the range's chunks had heard of.
        heard: u64,
    },
    /// Removes data beyond the size of the file, because a client failed to write all of its range.
    /// Clients that are writing there start over. Reply: [`Reply::Done`](crate::Reply::Done).
    CutAhead(FileId),
    /// Punches a hole into `from..to` at the home, and counts as a write up to `grow_to`. Reply:
    /// [`Reply::Extent`](crate::Reply::Extent).
    ///
    /// Other servers get [`Request::PunchChunks`]. With `from == to` it allocates.
    Punch {
        /// The file.
        id: FileId,
        /// First byte.
        from: u64,
        /// The byte after the last.
        to: u64,
        /// The file's size becomes at least this.
        grow_to: u64,
    },
    /// Reads `from..to` of a chunk that is not chunk 0; unwritten bytes are zeros. To the chunk's
    /// server. Reply: [`Reply::Done`](crate::Reply::Done) with the data.
    ReadChunk {
        /// The chunk.
        chunk: ChunkId,
        /// First byte within the chunk.
        from: u32,
        /// The byte after the last.
        to: u32,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The file's truncations that the client knows.
        truncations: Truncations,
    },
    /// Writes the payload to `offset` of a chunk that is not chunk 0.
    WriteChunk {
        /// The chunk.
        chunk: ChunkId,
        /// First byte within the chunk.
        offset: u32,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The file's truncations that the client knows.
        truncations: Truncations,
    },
    /// Punches a hole into `from..to` of the file in all chunks but chunk 0 on this server.
    PunchChunks {
        /// The file.
        file: FileId,
        /// First byte within the file.
        from: u64,
        /// The byte after the last.
        to: u64,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The file's truncations that the client knows.
        truncations: Truncations,
    },
    /// Copies data between two chunks on this server, neither of them chunk 0, without a transfer.
    /// Holes become zeros. Both files must have chunks of the same size.
    CopyChunk {
        /// The chunk to read.
        source: ChunkId,
        /// First byte to read.
        from: u32,
        /// The byte after the last.
        to: u32,
        /// The source file's truncations that the client knows.
        source_truncations: Truncations,
        /// The chunk to write.
        target: ChunkId,
        /// First byte to write.
        offset: u32,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The target file's truncations that the client knows.
        truncations: Truncations,
    },
    /// Finds the first data at or after `from` among the file's chunks on this server. Reply:
    /// [`Reply::Offset`](crate::Reply::Offset).
    NextData {
        /// The file.
        file: FileId,
        /// First byte within the file.
        from: u64,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The file's truncations that the client knows.
        truncations: Truncations,
    },
    /// Finds the first hole at or after `from` within a chunk; the chunk's end if there is none.
    /// Reply: [`Reply::Offset`](crate::Reply::Offset), within the file.
    NextHole {
        /// The file.
        file: FileId,
        /// First byte within the file, which determines the chunk.
        from: u64,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The file's truncations that the client knows.
        truncations: Truncations,
    },
    /// Sums the bytes of data in the file's chunks on this server. Reply:
    /// [`Reply::Number`](crate::Reply::Number).
    SumData {
        /// The file.
        file: FileId,
        /// The file's size; data beyond it does not count.
        size: u64,
        /// Bytes per chunk.
        chunk_bytes: u32,
        /// The file's truncations that the client knows.
        truncations: Truncations,
    },
    /// Reads an extended attribute. To the home. Reply: [`Reply::Bytes`](crate::Reply::Bytes).
    GetXattr {
        /// The file.
        id: FileId,
        /// The attribute's name, with its name space.
        name: XattrName,
    },
    /// Sets an extended attribute.
    SetXattr {
        /// The file.
        id: FileId,
        /// The attribute's name.
        name: XattrName,
        /// Its value.
        value: Bytes,
        /// Fail with `EEXIST` if it exists.
        create: bool,
        /// Fail with `ENODATA` if it does not exist.
        replace: bool,
    },
    /// Lists extended attributes. Reply: [`Reply::Names`](crate::Reply::Names).
    ListXattrs(FileId),
    /// Removes an extended attribute.
    RemoveXattr {
        /// The file.
        id: FileId,
        /// The attribute's name.
        name: XattrName,
    },
    /// Finds a lock that conflicts with another one. Reply: [`Reply::Lock`](crate::Reply::Lock).
    TestLock {
        /// The file.
        id: FileId,
        /// The lock.
        lock: LockChange,
    },
    /// Acquires or releases a lock; `EAGAIN` if it conflicts and `wait` is not set.
    SetLock {
        /// The file.
        id: FileId,
        /// The lock.
        lock: LockChange,
        /// Reply only when the lock is granted or the wait is cancelled.
        wait: bool,
    },
    /// Cancels the wait of an earlier [`Request::SetLock`] of the same client, which then fails
    /// with `EINTR` unless it was granted before.
    CancelLock {
        /// The file.
        id: FileId,
        /// The sequence number of the waiting request.
        sequence: u64,
    },
    /// Executes a transaction whose keys are all on this server. Reply:
    /// [`Reply::Executed`](crate::Reply::Executed).
    Execute(Vec<Step>),
    /// Reserves the targets of a transaction's steps on this server. Reply:
    /// [`Reply::Prepared`](crate::Reply::Prepared).
    Prepare {
        /// The transaction.
        transaction: TransactionId,
        /// When the first attempt at the operation began.
        age: Time,
        /// The server that stores the status record; it must be prepared first.
        status_server: ServerId,
        /// All servers that will be prepared; sent to the status server only.
        participants: Vec<ServerId>,
        /// The steps for this server.
        steps: Vec<Step>,
    },
    /// Decides a transaction. To the status server. Reply:
    /// [`Reply::Decided`](crate::Reply::Decided).
    Decide {
        /// The transaction.
        transaction: TransactionId,
        /// Whether to commit or to abort it.
        commit: bool,
    },
    /// Reads the version of the tree's shape. To the root's home. Reply:
    /// [`Reply::Number`](crate::Reply::Number).
    GetTreeVersion,
    /// Reads the occupancy of the server. Reply: [`Reply::Space`](crate::Reply::Space).
    GetSpace,
    /// Reads the counters of the server's process as JSON. The runtime replies, not the core.
    /// Reply: [`Reply::Bytes`](crate::Reply::Bytes).
    GetStatus,
    /// Lists some of the server's records for a check of the file system. To every server. Reply:
    /// [`Reply::Records`](crate::Reply::Records).
    Inspect {
        /// Continue after this position; start with `None`.
        after: Option<crate::inspection::InspectedKey>,
        /// Stop after about this many records.
        records_max: u32,
    },
    /// Repairs one damage that a check has found. To the server that holds it.
    Repair(crate::inspection::Repair),
    /// Returns leases that were recalled or are no longer needed. To the nodes' home.
    ///
    /// Of each node it returns the lease of this number or an earlier one.
    GiveBack(Vec<Lease>),
    /// Shows that the client is alive.
    KeepAlive,
    /// Ends the session: the server gives up its registrations and locks now.
    EndSession,
    /// Sums the headers of the server's buckets of a directory. Reply:
    /// [`Reply::Buckets`](crate::Reply::Buckets).
    SumHeaders(FileId),
    /// Searches parts of directories, in this order, for entries that pass tests, within a bounded
    /// amount of work. To the buckets' server. Reply: [`Reply::Scanned`](crate::Reply::Scanned).
    ///
    /// It grants no leases, because a search sees more files than are worth caching.
    Find {
        /// The parts.
        scans: Vec<Scan>,
        /// The tests.
        tests: Tests,
        /// The wanted information about entries that match.
        detail: Detail,
        /// Stop after about this many entries, whether they match or not. Names of one hash are
        /// never separated.
        entries_max: u32,
    },
    /// Tests the attributes of files that a search has met elsewhere. To the files' home. Reply:
    /// [`Reply::Tested`](crate::Reply::Tested).
    TestFiles {
        /// The files.
        files: Vec<FileId>,
        /// The tests; those of names and kinds count as passed.
        tests: Tests,
        /// The wanted information about files that pass.
        detail: Detail,
    },
    /// Lists the entries of a directory that this server has, in the order of their hashes, after
    /// `after`. Reply: [`Reply::ListedHere`](crate::Reply::ListedHere), of no entries if it has
    /// none.
    ListHere {
        /// The directory.
        directory: FileId,
        /// List names with a larger hash only.
        after: NameHash,
        /// Stop after about this many entries. Names of one hash are never separated.
        entries_max: u32,
    },
    /// Asks a contact server for a fact of another home. To any server. Reply:
    /// [`Reply::Relayed`](crate::Reply::Relayed).
    Consult(Question),
    /// Reports ended restorations, and asks for released files whose data other clients need. To
    /// every server. Reply: [`Reply::Wanted`](crate::Reply::Wanted), at once.
    ///
    /// Only this client may change the data of these files until it reports their restoration. It
    /// writes all of it; times and attributes of the files stay as they are.
    NextRestorations {
        /// The restorations that have ended since.
        ended: Vec<Restored>,
        /// The most files that the client wants.
        files_max: u32,
    },
    /// Asks where the servers of the cluster are. The runtime replies, not the core. To any server.
    /// Reply: [`Reply::Done`](crate::Reply::Done) with data: the locations as JSON, or none if they
    /// are no later ones.
    GetLocations {
        /// The version of the cluster map that the client has.
        known: u32,
    },
    /// Makes all that the server has executed survive a loss of power, as far as its store can.
    /// Reply: [`Reply::Synchronized`](crate::Reply::Synchronized).
    Synchronize,
    /// The client has no longer got pieces of a file, and is not to be named for them. To the
    /// file's home. Reply: [`Reply::Done`](crate::Reply::Done).
    ForgetCopies {
        /// The file.
        id: FileId,
        /// The number of the first piece.
        first: u64,
        /// How many pieces.
        pieces: u32,
    },
    /// The client still writes back what it has buffered of these files, whose leases are recalled
    /// again: it may wait for another server, and is not to be fenced meanwhile. To the files'
    /// home. Reply: [`Reply::Done`](crate::Reply::Done).
    StillWriting(Vec<FileId>),
}

impl Request {
    /// Whether the runtime of a server replies, without a look at the session.
    pub const fn is_for_runtime(&self) -> bool {
        matches!(self, Self::GetStatus | Self::GetLocations { .. })
    }
}
