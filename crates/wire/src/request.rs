//! What a client asks of a server.

use crate::{Lease, Step};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{
    BucketStart, ChunkId, FileId, Name, NameHash, ServerId, Time, Timestamp, TransactionId,
    XattrName,
    record::{LockKind, LockRange, LockSpace, Truncations},
};
use serde::{Deserialize, Serialize};

/// Where a name belongs: the bucket of the directory that covers its hash, as far as the client
/// knows. The server of the bucket corrects the client if the bucket has been split since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// The directory.
    pub directory: FileId,
    /// The bucket that is asked.
    pub bucket: BucketStart,
    /// The name.
    pub name: Name,
}

/// What a new node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewContent {
    /// A regular file, cut into chunks of so many bytes. The request's data is its first data.
    File {
        /// Bytes a chunk.
        chunk_bytes: u32,
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

/// A node to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewNode {
    /// What it is.
    pub content: NewContent,
    /// Permission bits, the low 12 bits of `st_mode`; the umask has been applied.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group, unless the directory's set-group-id bit says otherwise.
    pub gid: u32,
}

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetTime {
    /// The server's present time.
    Now,
    /// This time.
    To(Timestamp),
}

/// A change of attributes; what is `None` stays.
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
    /// Last access.
    pub accessed: Option<SetTime>,
    /// Last change of the contents.
    pub modified: Option<SetTime>,
    /// Take set-user-id, and set-group-id of a group-executable file, away: the caller is not
    /// privileged to keep them through a change of owner or size.
    pub kill_privileges: bool,
}

/// A lock to test, take or give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockChange {
    /// The family of locks.
    pub space: LockSpace,
    /// What to take; `None` gives up.
    pub kind: Option<LockKind>,
    /// The owner within the session.
    pub owner: u64,
    /// The bytes; all of them for [`LockSpace::Whole`].
    pub range: LockRange,
    /// The process that asks.
    pub pid: u32,
}

/// What a client asks of a server. The file data of a request, if any, is its payload.
///
/// `<&str>::from(&request)` is the operation's name, for statistics and logs; `Request::VARIANTS` are all of them.
#[derive(
    Clone, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Request {
    /// Finds a name. To the bucket's server. Answer: [`Reply::Found`](crate::Reply::Found).
    Lookup(Spot),
    /// Makes a node other than a directory, with the payload as the first data of a file. To the
    /// bucket's server. Answer: [`Reply::Found`](crate::Reply::Found), with attributes if the node
    /// is new or lives there.
    Create {
        /// The name.
        at: Spot,
        /// The node.
        node: NewNode,
        /// Fail with `EEXIST` if the name is taken; otherwise an existing entry is the answer.
        exclusive: bool,
        /// Register the new file as open by the client's session, unless the answer comes with a lease on it
        /// ([`FileState::leased`]): the client registers it before it gives that back.
        open: bool,
    },
    /// Makes a regular file without a name, open by the client's session: `O_TMPFILE`. It may be
    /// given a name by a transaction that adds a link; it is gone with its last close if it has
    /// none. A character device is made for a rename that leaves a whiteout. To the directory's
    /// home. Answer: [`Reply::Found`](crate::Reply::Found).
    CreateUnnamed {
        /// The directory whose group the file may inherit.
        directory: FileId,
        /// The node: a regular file or a character device.
        node: NewNode,
    },
    /// Makes a directory. To the bucket's server. Answer: [`Reply::Found`](crate::Reply::Found), or
    /// [`Reply::Elsewhere`](crate::Reply::Elsewhere) if the new directory belongs to another server.
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
    /// Removes a name that is not a directory's. To the bucket's server. Answer:
    /// [`Reply::Done`](crate::Reply::Done), or [`Reply::File`](crate::Reply::File) with the directory's
    /// state if the client takes leases.
    Unlink {
        /// The name.
        at: Spot,
        /// The file that it leads to, if the client knows it under a lease.
        file: Option<FileId>,
    },
    /// Lists entries of a bucket in the order of their hashes, after `after`. To the bucket's
    /// server. Answer: [`Reply::Listing`](crate::Reply::Listing).
    ReadDirectory {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
        /// List names with a larger hash only.
        after: NameHash,
        /// Stop after about so many entries; names of one hash are never separated.
        entries_max: u32,
    },
    /// Asks for the header of a bucket. To its server. Answer: [`Reply::Header`](crate::Reply::Header).
    GetHeader {
        /// The directory.
        directory: FileId,
        /// The bucket.
        bucket: BucketStart,
    },
    /// Asks for attributes. To the files' home. Answer: [`Reply::Files`](crate::Reply::Files).
    GetAttributes(Vec<FileId>),
    /// Changes attributes. To the file's home; not for the mode, owner or group of a directory with
    /// several buckets. Answer: [`Reply::File`](crate::Reply::File).
    SetAttributes {
        /// The file.
        id: FileId,
        /// What to change.
        change: AttributeChange,
    },
    /// Reads a symbolic link. To its home. Answer: [`Reply::Bytes`](crate::Reply::Bytes).
    ReadLink(FileId),
    /// Registers the file as open by the client's session: it lives until the last close, whatever happens
    /// to its names. To its home. Answer: [`Reply::Opened`](crate::Reply::Opened).
    Open(FileId),
    /// Takes one registration back. Answer: [`Reply::Done`](crate::Reply::Done), or
    /// [`Reply::File`](crate::Reply::File) if the file is still there and the client takes leases.
    Close(FileId),
    /// Has everybody tell the file's home before they change other chunks than those there, until its data changes
    /// again: leases on the file cover its data then. To its home. Answer: [`Reply::Done`](crate::Reply::Done).
    AnnounceChanges(FileId),
    /// Takes an exclusive lease on a file, under which the client may keep what it writes: it is called back before others
    /// are told anything of the file. It is not given while others have the file open or have leases on it. To its
    /// home. Answer: [`Reply::File`](crate::Reply::File).
    TakeExclusive(FileId),
    /// Reads at the file's home: what of `offset..offset+length` lies in the chunk of `offset` is the
    /// answer's payload, clipped to the file's size, if that chunk is at home, too. Answer: [`Reply::Extent`](crate::Reply::Extent).
    Read {
        /// The file.
        id: FileId,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
    },
    /// Lets the caller, if it has the file open, write chunks up to `reach` before the home hears
    /// of the write that they belong to. Answer: [`Reply::Extent`](crate::Reply::Extent).
    PrepareWrite {
        /// The file.
        id: FileId,
        /// The end of the last chunk to be written, in bytes.
        reach: u64,
    },
    /// Writes at the file's home: the payload goes to `offset`, in a chunk that is at home, too, and the
    /// file's size becomes at least `end`. `Changed` if the rest of the write may have been cut off
    /// since. Answer: [`Reply::Extent`](crate::Reply::Extent).
    Write {
        /// The file.
        id: FileId,
        /// Where the payload goes, if there is any.
        offset: u64,
        /// The end of the whole write, of which the payload may be the first part.
        end: u64,
        /// From here to the end everything is written, with this request or others of the caller:
        /// if the file was shorter there is a hole before it.
        covered_from: u64,
        /// As [`AttributeChange::kill_privileges`].
        kill_privileges: bool,
        /// When it was written, if that was before it was sent: under an exclusive lease.
        written: Option<Timestamp>,
        /// The file's latest shrinking of which the other chunks of this write had heard, if they
        /// were written before.
        heard: Option<u64>,
    },
    /// Takes the next `length` bytes at the end of the file for the caller, and stores as much of the
    /// payload as falls into chunk 0. Answer: [`Reply::Extent`](crate::Reply::Extent), with the
    /// offset that was handed out; if its size does not cover the range, that waits for
    /// [`Request::FinishAppend`].
    Append {
        /// The file.
        id: FileId,
        /// Number of bytes.
        length: u32,
        /// As [`AttributeChange::kill_privileges`].
        kill_privileges: bool,
    },
    /// The data of a range that [`Request::Append`] has handed out is there: the file's size covers
    /// it now. The answer waits while somebody else writes what comes before it. `Changed` if the
    /// file has shrunk since, which takes the range away. Answer:
    /// [`Reply::Extent`](crate::Reply::Extent).
    FinishAppend {
        /// The file.
        id: FileId,
        /// First byte.
        from: u64,
        /// The byte after the last.
        to: u64,
        /// As [`AttributeChange::kill_privileges`].
        kill_privileges: bool,
        /// The file's latest shrinking of which the range's chunks had heard.
        heard: u64,
    },
    /// Takes away what has been written beyond the size of the file: somebody has failed to write
    /// all that belongs there. Who is writing there begins anew. Answer:
    /// [`Reply::Done`](crate::Reply::Done).
    CutAhead(FileId),
    /// Makes a hole in `from..to` at the home, and counts as a write up to `grow_to`. Other servers
    /// get [`Request::PunchChunks`]. With `from == to`: allocates.
    /// Answer: [`Reply::Extent`](crate::Reply::Extent).
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
    /// Reads `from..to` of a chunk that is not chunk 0; what was never written is zeros. To the
    /// chunk's server. Answer: [`Reply::Done`](crate::Reply::Done) with the data.
    ReadChunk {
        /// The chunk.
        chunk: ChunkId,
        /// First byte within the chunk.
        from: u32,
        /// The byte after the last.
        to: u32,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// What the client knows of the file's shrinkings.
        truncations: Truncations,
    },
    /// Puts the payload at `offset` of a chunk that is not chunk 0.
    WriteChunk {
        /// The chunk.
        chunk: ChunkId,
        /// First byte within the chunk.
        offset: u32,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// What the client knows of the file's shrinkings.
        truncations: Truncations,
    },
    /// Makes a hole in `from..to` of the file in all chunks but chunk 0 on this server.
    PunchChunks {
        /// The file.
        file: FileId,
        /// First byte within the file.
        from: u64,
        /// The byte after the last.
        to: u64,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// What the client knows of the file's shrinkings.
        truncations: Truncations,
    },
    /// Copies data between two chunks on this server, neither of them chunk 0, without moving it.
    /// Holes become zeros. Both files must have chunks of one size.
    CopyChunk {
        /// The chunk to read.
        source: ChunkId,
        /// First byte to read.
        from: u32,
        /// The byte after the last.
        to: u32,
        /// What the client knows of the source file's shrinkings.
        source_truncations: Truncations,
        /// The chunk to write.
        target: ChunkId,
        /// First byte to write.
        offset: u32,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// What the client knows of the target file's shrinkings.
        truncations: Truncations,
    },
    /// Finds the first data at or after `from` among the file's chunks on this server.
    /// Answer: [`Reply::Offset`](crate::Reply::Offset).
    NextData {
        /// The file.
        file: FileId,
        /// First byte within the file.
        from: u64,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// What the client knows of the file's shrinkings.
        truncations: Truncations,
    },
    /// Finds the first hole at or after `from` within a chunk; the chunk's end if there is none.
    /// Answer: [`Reply::Offset`](crate::Reply::Offset), within the file.
    NextHole {
        /// The file.
        file: FileId,
        /// First byte within the file; it names the chunk.
        from: u64,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// What the client knows of the file's shrinkings.
        truncations: Truncations,
    },
    /// Asks how much data there is in the file's chunks on this server, in bytes.
    /// Answer: [`Reply::Number`](crate::Reply::Number).
    SumData {
        /// The file.
        file: FileId,
        /// The file's size: what lies beyond does not count.
        size: u64,
        /// Bytes a chunk.
        chunk_bytes: u32,
        /// What the client knows of the file's shrinkings.
        truncations: Truncations,
    },
    /// Reads an extended attribute. To the home. Answer: [`Reply::Bytes`](crate::Reply::Bytes).
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
    /// Lists extended attributes. Answer: [`Reply::Names`](crate::Reply::Names).
    ListXattrs(FileId),
    /// Removes an extended attribute.
    RemoveXattr {
        /// The file.
        id: FileId,
        /// The attribute's name.
        name: XattrName,
    },
    /// Says who is in the way of a lock. Answer: [`Reply::Lock`](crate::Reply::Lock).
    TestLock {
        /// The file.
        id: FileId,
        /// The lock.
        lock: LockChange,
    },
    /// Takes or gives up a lock; `EAGAIN` if others are in the way and `wait` is not set.
    SetLock {
        /// The file.
        id: FileId,
        /// The lock.
        lock: LockChange,
        /// Answer only when the lock is granted or the wait is cancelled.
        wait: bool,
    },
    /// Ends the wait of an earlier [`Request::SetLock`] of the same client: it answers `EINTR`, unless
    /// it has been granted.
    CancelLock {
        /// The file.
        id: FileId,
        /// The sequence number of the waiting request.
        sequence: u64,
    },
    /// Runs a transaction all of whose keys are on this server.
    Execute(Vec<Step>),
    /// Reserves what some steps of a transaction need on this server.
    /// Answer: [`Reply::Prepared`](crate::Reply::Prepared).
    Prepare {
        /// The transaction.
        transaction: TransactionId,
        /// When the first attempt at the operation began.
        age: Time,
        /// The server that keeps the status record; it must be prepared first.
        status_server: ServerId,
        /// All servers that will be prepared; told to the status server only.
        participants: Vec<ServerId>,
        /// The steps for this server.
        steps: Vec<Step>,
    },
    /// Decides a transaction. To the status server. Answer: [`Reply::Decided`](crate::Reply::Decided).
    Decide {
        /// The transaction.
        transaction: TransactionId,
        /// Whether to commit it, or to give it up.
        commit: bool,
    },
    /// Asks for the version of the tree's shape. To the root's home.
    /// Answer: [`Reply::Number`](crate::Reply::Number).
    GetTreeVersion,
    /// Asks how full the server is. Answer: [`Reply::Space`](crate::Reply::Space).
    GetSpace,
    /// Asks the server's process for its counters as JSON; the cores never see it.
    /// Answer: [`Reply::Bytes`](crate::Reply::Bytes).
    GetStatus,
    /// Lists part of the server's records for a check of the file system. To every server.
    /// Answer: [`Reply::Records`](crate::Reply::Records).
    Inspect {
        /// Continue after this position; start with `None`.
        after: Option<crate::check::InspectedKey>,
        /// Stop after about so many records.
        records_max: u32,
    },
    /// Mends one piece of damage that a check has found. To the server that holds it.
    Repair(crate::check::Repair),
    /// Gives leases back that were called back or are not needed any more: of each node the one of this
    /// number or an earlier one. To the nodes' home.
    GiveBack(Vec<Lease>),
    /// Shows that the client lives.
    KeepAlive,
    /// The client leaves: its registrations and locks are given up now.
    EndSession,
    /// Asks what the server's buckets of a directory count together.
    /// Answer: [`Reply::HeaderSum`](crate::Reply::HeaderSum).
    SumHeaders(FileId),
}
