//! The operations, with the meaning of their fields.

use crate::Timestamp;
use crate::abi::flags::SetAttrValid;
use bytes::Bytes;

/// The operation that the kernel requests. Names are raw bytes without NUL.
///
/// `flags` are the `O_*` flags of open(2) unless a field describes them otherwise. File `handle`s
/// are the numbers that the file system chose in its reply to Open or Create.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Field names are the system calls' own.
pub enum Operation {
    /// Find a name in the directory. Answered by an entry.
    Lookup { name: Bytes },
    /// stat(2). `handle` is set for fstat. Answered by attributes.
    GetAttributes { handle: Option<u64> },
    /// statx(2) with a request for the birth time (protocol 7.39). Answered by `Reply::statx`.
    Statx {
        handle: Option<u64>,
        flags: u32,
        mask: u32,
    },
    /// chmod, chown, truncate, utimensat. Answered by attributes.
    SetAttributes(SetAttributes),
    /// readlink(2). Answered by data.
    ReadLink,
    /// symlink(2). Answered by an entry.
    Symlink { name: Bytes, target: Bytes },
    /// mknod(2), also of regular files. Answered by an entry.
    MakeNode(MakeNode),
    /// mkdir(2). Answered by an entry.
    MakeDirectory { name: Bytes, mode: u32, umask: u32 },
    /// unlink(2). Answered by ok.
    Unlink { name: Bytes },
    /// rmdir(2). Answered by ok.
    RemoveDirectory { name: Bytes },
    /// renameat2(2). Answered by ok.
    Rename(Rename),
    /// link(2): give the inode `node` another name in the request's directory. An entry.
    Link { node: u64, name: Bytes },
    /// open(2) of an existing file. Answered by `Reply::opened`.
    Open { flags: u32, kill_suidgid: bool },
    /// open(2) with O_CREAT of a name that was not found. Answered by `Reply::created`.
    Create(Create),
    /// open(2) with O_TMPFILE in the request's directory (protocol 7.37); the name is empty.
    TemporaryFile(Create),
    /// pread(2). Answered by data; fewer bytes than requested mean the end of the file.
    Read(Read),
    /// pwrite(2). Answered by `Reply::written`.
    Write(Write),
    /// statfs(2). Answered by `Reply::statfs`.
    StatFs,
    /// The last close of an open file. Answered by ok; no caller waits for it.
    Release(Release),
    /// fsync(2) and fdatasync(2). Answered by ok.
    Fsync { handle: u64, data_only: bool },
    /// setxattr(2). Answered by ok.
    SetXattr(SetXattr),
    /// getxattr(2). Size 0 requests only the size (`Reply::xattr_size`), any other size the data.
    GetXattr { name: Bytes, size: u32 },
    /// listxattr(2), as GetXattr; the data is NUL-terminated names.
    ListXattr { size: u32 },
    /// removexattr(2). Answered by ok.
    RemoveXattr { name: Bytes },
    /// Every close(2) of a descriptor: drop `lock_owner`'s `fcntl` locks. Answered by ok.
    Flush { handle: u64, lock_owner: u64 },
    /// opendir(3). Answered by `Reply::opened`.
    OpenDirectory { flags: u32 },
    /// getdents(2). `offset` is 0 or a cookie from an earlier reply. A directory list.
    ReadDirectory { handle: u64, offset: u64, size: u32 },
    /// As ReadDirectory, with an entry (and so a lookup) for each name.
    ReadDirectoryPlus { handle: u64, offset: u64, size: u32 },
    /// The last close of a directory. Answered by ok.
    ReleaseDirectory { handle: u64, flags: u32 },
    /// fsync(2) of a directory. Answered by ok.
    FsyncDirectory { handle: u64, data_only: bool },
    /// F_GETLK. Answered by `Reply::lock`.
    GetLock(LockRequest),
    /// F_SETLK, F_SETLKW (`wait`) and flock(2) (`flock`), whose locks do not conflict. Answered by
    /// ok, or by EAGAIN if the lock is taken and `wait` is not set.
    SetLock {
        request: LockRequest,
        wait: bool,
        flock: bool,
    },
    /// access(2), only sent without `default_permissions`. Answered by ok.
    Access { mask: u32 },
    /// FIBMAP, only for block devices.
    MapBlock { block: u64, block_size: u32 },
    /// ioctl(2).
    Ioctl(Ioctl),
    /// poll(2).
    Poll { handle: u64, events: u32 },
    /// fallocate(2). Answered by ok.
    Fallocate(Fallocate),
    /// lseek(2) with SEEK_DATA or SEEK_HOLE. Answered by `Reply::offset`.
    Seek {
        handle: u64,
        offset: u64,
        whence: u32,
    },
    /// copy_file_range(2). Answered by `Reply::copied`.
    CopyFileRange(CopyFileRange),
    /// syncfs(2); the kernel only sends it to trusted (virtio) servers. Answered by ok.
    SyncFs,
    /// The mount ends. Answered by ok.
    Destroy,
    /// An operation that this crate does not know; the reply must be ENOSYS.
    Unknown { opcode: u32 },
}

impl Operation {
    /// A short name, for logs and metrics.
    #[must_use]
    #[allow(clippy::too_many_lines)] // One line an operation.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lookup { .. } => "lookup",
            Self::GetAttributes { .. } => "get_attributes",
            Self::Statx { .. } => "statx",
            Self::SetAttributes(_) => "set_attributes",
            Self::ReadLink => "read_link",
            Self::Symlink { .. } => "symlink",
            Self::MakeNode(_) => "make_node",
            Self::MakeDirectory { .. } => "make_directory",
            Self::Unlink { .. } => "unlink",
            Self::RemoveDirectory { .. } => "remove_directory",
            Self::Rename(_) => "rename",
            Self::Link { .. } => "link",
            Self::Open { .. } => "open",
            Self::Create(_) => "create",
            Self::TemporaryFile(_) => "temporary_file",
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::StatFs => "stat_fs",
            Self::Release(_) => "release",
            Self::Fsync { .. } => "fsync",
            Self::SetXattr(_) => "set_xattr",
            Self::GetXattr { .. } => "get_xattr",
            Self::ListXattr { .. } => "list_xattr",
            Self::RemoveXattr { .. } => "remove_xattr",
            Self::Flush { .. } => "flush",
            Self::OpenDirectory { .. } => "open_directory",
            Self::ReadDirectory { .. } => "read_directory",
            Self::ReadDirectoryPlus { .. } => "read_directory_plus",
            Self::ReleaseDirectory { .. } => "release_directory",
            Self::FsyncDirectory { .. } => "fsync_directory",
            Self::GetLock(_) => "get_lock",
            Self::SetLock { .. } => "set_lock",
            Self::Access { .. } => "access",
            Self::MapBlock { .. } => "map_block",
            Self::Ioctl(_) => "ioctl",
            Self::Poll { .. } => "poll",
            Self::Fallocate(_) => "fallocate",
            Self::Seek { .. } => "seek",
            Self::CopyFileRange(_) => "copy_file_range",
            Self::SyncFs => "sync_fs",
            Self::Destroy => "destroy",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// A new value of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// The current time of the file system.
    Now,
    /// This time.
    At(Timestamp),
}

/// The changes of SetAttributes; absent fields stay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SetAttributes {
    /// The raw flags.
    pub valid: SetAttrValid,
    pub handle: Option<u64>,
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// truncate(2)
    pub size: Option<u64>,
    pub atime: Option<SetTime>,
    pub mtime: Option<SetTime>,
    pub ctime: Option<Timestamp>,
    /// Set with truncation.
    pub lock_owner: Option<u64>,
    /// Clear setuid, and setgid of a file that its group may execute.
    pub kill_suidgid: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// mknod(2).
pub struct MakeNode {
    pub name: Bytes,
    pub mode: u32,
    pub umask: u32,
    pub device: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// renameat2(2) from the request's directory.
pub struct Rename {
    pub name: Bytes,
    pub new_directory: u64,
    pub new_name: Bytes,
    /// RENAME_NOREPLACE, RENAME_EXCHANGE or RENAME_WHITEOUT.
    pub flags: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// Creation of a file together with its opening.
pub struct Create {
    pub name: Bytes,
    pub flags: u32,
    /// The umask is already applied unless `InitFlags::DONT_MASK` is in force.
    pub mode: u32,
    pub umask: u32,
    pub kill_suidgid: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// pread(2).
pub struct Read {
    pub handle: u64,
    pub offset: u64,
    pub size: u32,
    pub flags: u32,
    pub lock_owner: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// pwrite(2).
pub struct Write {
    pub handle: u64,
    /// With O_APPEND in `flags` this is the kernel's guess of the end of the file, which is wrong
    /// if another mount has written. The file system must append at the true end instead.
    pub offset: u64,
    /// Shares the memory that the request was read into.
    pub data: Bytes,
    pub flags: u32,
    pub lock_owner: Option<u64>,
    /// Written back from the page cache (mmap). Handle, user and flags may be another opener's, and
    /// `offset` is valid even with O_APPEND.
    pub from_cache: bool,
    /// Clear setuid, and setgid of a file that its group may execute.
    pub kill_suidgid: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// Last close of an open file.
pub struct Release {
    pub handle: u64,
    pub flags: u32,
    /// The owner of the `flock` lock to release. OFD locks taken through `handle` must be released
    /// as well, although the request does not mention them.
    pub flock_owner: Option<u64>,
    /// A flush is included.
    pub flush: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// setxattr(2).
pub struct SetXattr {
    pub name: Bytes,
    pub value: Bytes,
    /// XATTR_CREATE or XATTR_REPLACE.
    pub flags: u32,
    /// A user outside the file's group set an access list: clear setgid.
    pub acl_kill_sgid: bool,
}

/// A byte-range lock, as in `struct flock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// First byte.
    pub start: u64,
    /// Last byte, inclusive; `i64::MAX` is the end of the file wherever it is.
    pub end: u64,
    /// F_RDLCK, F_WRLCK or F_UNLCK.
    pub kind: u32,
    /// The process that holds or requests it.
    pub pid: u32,
}

/// A lock, its owner and the open file through which it is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockRequest {
    pub handle: u64,
    /// Identifies a process's descriptor table (fcntl) or an open file (flock).
    pub owner: u64,
    pub lock: Lock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// ioctl(2).
pub struct Ioctl {
    pub handle: u64,
    pub flags: u32,
    pub command: u32,
    pub argument: u64,
    pub input: Bytes,
    pub output_size: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// fallocate(2).
pub struct Fallocate {
    pub handle: u64,
    pub offset: u64,
    pub length: u64,
    /// FALLOC_FL_*.
    pub mode: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
/// copy_file_range(2) from the request's node.
pub struct CopyFileRange {
    pub handle: u64,
    pub offset: u64,
    pub target_node: u64,
    pub target_handle: u64,
    pub target_offset: u64,
    /// May exceed 4 GiB; the reply to the older request cannot.
    pub length: u64,
    pub flags: u64,
}
