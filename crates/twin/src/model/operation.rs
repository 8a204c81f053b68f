//! Operations of clients and their results.

use bytes::Bytes;
use futago_base::{
    Errno, FileId, Name, XattrName,
    record::{LockKind, LockSpace, RangeLock},
};
use futago_client::{AllocateMode, RenameFlags, XattrMode};
use futago_wire::{FileState, ListedEntry};

/// The kind of a new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewKind {
    /// A regular file with so many first bytes.
    File(u32),
    /// A regular file of so many bytes, whose data is elsewhere until a client needs it. All bytes
    /// have the value [`released_tag`].
    Released(u32),
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
}

/// The value of the bytes of a released file of this size.
pub const fn released_tag(bytes: u64) -> u8 {
    (bytes % 250) as u8 + 1
}

/// An operation of a client. Data is named by a tag: all of its bytes have this value.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "the fields are the arguments of the client's operations"
)]
pub enum Operation {
    Lookup {
        directory: FileId,
        name: Name,
    },
    Create {
        directory: FileId,
        name: Name,
        kind: NewKind,
        mode: u16,
        exclusive: bool,
        open: bool,
        tag: u8,
    },
    CreateUnnamed {
        directory: FileId,
        mode: u16,
    },
    MakeDirectory {
        directory: FileId,
        name: Name,
        mode: u16,
    },
    Unlink {
        directory: FileId,
        name: Name,
    },
    RemoveDirectory {
        directory: FileId,
        name: Name,
    },
    Rename {
        directory: FileId,
        name: Name,
        new_directory: FileId,
        new_name: Name,
        flags: RenameFlags,
    },
    Link {
        id: FileId,
        directory: FileId,
        name: Name,
    },
    Attributes(FileId),
    SetMode {
        id: FileId,
        mode: u16,
    },
    SetOwner {
        id: FileId,
        uid: u32,
        gid: u32,
    },
    Truncate {
        id: FileId,
        size: u64,
    },
    ReadLink(FileId),
    Open(FileId),
    Close(FileId),
    /// A close that nobody waits for, as a kernel does it: the servers hear of it some time later.
    Release(FileId),
    Read {
        id: FileId,
        offset: u64,
        length: u32,
    },
    Write {
        id: FileId,
        offset: u64,
        length: u32,
        tag: u8,
    },
    Append {
        id: FileId,
        length: u32,
        tag: u8,
    },
    Allocate {
        id: FileId,
        mode: AllocateMode,
        offset: u64,
        length: u64,
    },
    SeekData {
        id: FileId,
        offset: u64,
    },
    SeekHole {
        id: FileId,
        offset: u64,
    },
    CopyRange {
        source: FileId,
        from: u64,
        target: FileId,
        offset: u64,
        length: u64,
    },
    GetXattr {
        id: FileId,
        name: XattrName,
    },
    SetXattr {
        id: FileId,
        name: XattrName,
        mode: XattrMode,
        tag: u8,
    },
    ListXattrs(FileId),
    RemoveXattr {
        id: FileId,
        name: XattrName,
    },
    TestLock {
        id: FileId,
        lock: LockRequest,
    },
    SetLock {
        id: FileId,
        lock: LockRequest,
        wait: bool,
    },
    ReadDirectory {
        directory: FileId,
        page: u32,
    },
    Parent(FileId),
    /// The session of a client that has died ends.
    Expire,
    /// The session of a client ends at the home of these files.
    ExpireAt(Vec<FileId>),
}

impl Operation {
    /// The file that it names by its identity, if it names one only.
    pub const fn file(&self) -> Option<FileId> {
        match self {
            Self::Link { id, .. }
            | Self::Attributes(id)
            | Self::SetMode { id, .. }
            | Self::SetOwner { id, .. }
            | Self::Truncate { id, .. }
            | Self::ReadLink(id)
            | Self::Open(id)
            | Self::Close(id)
            | Self::Release(id)
            | Self::Read { id, .. }
            | Self::Write { id, .. }
            | Self::Append { id, .. }
            | Self::Allocate { id, .. }
            | Self::SeekData { id, .. }
            | Self::SeekHole { id, .. }
            | Self::GetXattr { id, .. }
            | Self::SetXattr { id, .. }
            | Self::ListXattrs(id)
            | Self::RemoveXattr { id, .. }
            | Self::TestLock { id, .. }
            | Self::SetLock { id, .. } => Some(*id),
            _ => None,
        }
    }
}

/// A lock that is asked for: the positions `from..to` for an owner within the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockRequest {
    pub space: LockSpace,
    /// The lock to take; `None` releases.
    pub kind: Option<LockKind>,
    pub owner: u64,
    pub from: u64,
    pub to: u64,
}

impl LockRequest {
    /// The family as the model counts it.
    pub const fn space_number(&self) -> u8 {
        match self.space {
            LockSpace::Range => 0,
            LockSpace::Whole => 1,
        }
    }

    /// The kind as the model counts it.
    pub const fn tag(&self) -> u8 {
        match self.kind {
            None => 0,
            Some(LockKind::Shared) => 1,
            Some(LockKind::Exclusive) => 2,
        }
    }
}

/// The value that an operation returned.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "most operations return a file")]
pub enum Outcome {
    /// Success without further results.
    Done,
    /// A file, and whether it is new.
    File(FileState, bool),
    /// Data, a target or a value.
    Bytes(Bytes),
    /// A size, an offset or a length.
    Number(u64),
    /// A file, by its identity alone.
    Identity(FileId),
    /// A listing.
    Listing(Vec<ListedEntry>),
    /// Names of extended attributes.
    Names(Vec<XattrName>),
    /// The lock in the way.
    Lock(Option<RangeLock>),
}

/// The value that an operation returned, or its error.
pub type Observed = Result<Outcome, Errno>;
