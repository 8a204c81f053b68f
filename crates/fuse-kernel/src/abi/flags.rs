//! Bit sets of the protocol.

use bitflags::bitflags;

bitflags! {
    /// The features that kernel and file system negotiate in INIT. Bits 32 to 63 are sent in
    /// `flags2`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct InitFlags: u64 {
        /// Several reads of one file may be in flight at once.
        const ASYNC_READ = 1 << 0;
        /// The file system implements `fcntl` locks.
        const POSIX_LOCKS = 1 << 1;
        /// O_TRUNC arrives with OPEN and CREATE; no separate SETATTR.
        const ATOMIC_O_TRUNC = 1 << 3;
        /// "." and ".." can be looked up (needed to export the mount over NFS).
        const EXPORT_SUPPORT = 1 << 4;
        /// Writes larger than one page.
        const BIG_WRITES = 1 << 5;
        /// The file system applies the umask itself.
        const DONT_MASK = 1 << 6;
        /// The file system implements `flock` locks.
        const FLOCK_LOCKS = 1 << 10;
        /// Cached pages are dropped when a change of size or mtime is detected.
        const AUTO_INVAL_DATA = 1 << 12;
        /// READDIRPLUS may be sent.
        const DO_READDIRPLUS = 1 << 13;
        /// The kernel chooses between READDIR and READDIRPLUS.
        const READDIRPLUS_AUTO = 1 << 14;
        /// Asynchronous direct I/O sends several requests at once.
        const ASYNC_DIO = 1 << 15;
        /// The kernel delays writes in its page cache.
        const WRITEBACK_CACHE = 1 << 16;
        /// ENOSYS as the reply to OPEN stops all further OPENs.
        const NO_OPEN_SUPPORT = 1 << 17;
        /// Lookups and listings in one directory run in parallel.
        const PARALLEL_DIROPS = 1 << 18;
        /// The file system clears setuid and setgid on every write, chown and truncate.
        const HANDLE_KILLPRIV = 1 << 19;
        /// POSIX access control lists, checked by the kernel.
        const POSIX_ACL = 1 << 20;
        /// Reading the device after an abort gives ECONNABORTED rather than ENODEV.
        const ABORT_ERROR = 1 << 21;
        /// `max_pages` of the reply to INIT is valid (requests beyond 128 KiB).
        const MAX_PAGES = 1 << 22;
        /// Targets of symbolic links are cached.
        const CACHE_SYMLINKS = 1 << 23;
        /// ENOSYS as the reply to OPENDIR stops all further OPENDIRs.
        const NO_OPENDIR_SUPPORT = 1 << 24;
        /// Cached data is dropped only on explicit request.
        const EXPLICIT_INVAL_DATA = 1 << 25;
        /// As HANDLE_KILLPRIV, but each request states whether to clear.
        const HANDLE_KILLPRIV_V2 = 1 << 28;
        /// SETXATTR has the longer record with `setxattr_flags`.
        const SETXATTR_EXT = 1 << 29;
        /// `flags2` is valid.
        const INIT_EXT = 1 << 30;
        /// Entries can be marked as expired rather than dropped.
        const HAS_EXPIRE_ONLY = 1 << 35;
        /// Shared mappings of files that were opened with `OpenFlags::DIRECT_IO` (Linux 6.6).
        const DIRECT_IO_ALLOW_MMAP = 1 << 36;
        /// The kernel resends requests after a restart of the server.
        const HAS_RESEND = 1 << 39;
        /// The mount may be id-mapped.
        const ALLOW_IDMAP = 1 << 40;
        /// Requests travel over io_uring.
        const OVER_IO_URING = 1 << 41;
        /// The kernel aborts the connection when a request is not answered in time.
        const REQUEST_TIMEOUT = 1 << 42;
        /// Bits that this crate does not name.
        const _ = !0;
    }
}

bitflags! {
    /// How the kernel treats an opened file (FOPEN_*).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        /// Reads and writes go to the file system, past the page cache.
        const DIRECT_IO = 1 << 0;
        /// Cached pages survive this open.
        const KEEP_CACHE = 1 << 1;
        /// The file cannot seek.
        const NONSEEKABLE = 1 << 2;
        /// Directory listings are cached.
        const CACHE_DIRECTORY = 1 << 3;
        /// The file has no position.
        const STREAM = 1 << 4;
        /// No FLUSH on close.
        const NO_FLUSH = 1 << 5;
        /// Direct writes that do not extend the file run in parallel (Linux 6.2).
        const PARALLEL_DIRECT_WRITES = 1 << 6;
    }
}

bitflags! {
    /// The valid fields of a SETATTR request (FATTR_*).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SetAttrValid: u32 {
        /// `mode`
        const MODE = 1 << 0;
        /// `uid`
        const UID = 1 << 1;
        /// `gid`
        const GID = 1 << 2;
        /// `size`
        const SIZE = 1 << 3;
        /// `atime`
        const ATIME = 1 << 4;
        /// `mtime`
        const MTIME = 1 << 5;
        /// `fh`
        const HANDLE = 1 << 6;
        /// the time of access is the server's current time
        const ATIME_NOW = 1 << 7;
        /// the time of modification is the server's current time
        const MTIME_NOW = 1 << 8;
        /// `lock_owner`
        const LOCK_OWNER = 1 << 9;
        /// `ctime`
        const CTIME = 1 << 10;
        /// clear setuid, and setgid of a file that its group may execute
        const KILL_SUIDGID = 1 << 11;
    }
}

/// GETATTR and STATX: `fh` is valid.
pub const GETATTR_FH: u32 = 1 << 0;
/// SETLK: a `flock` lock rather than an `fcntl` one.
pub const LK_FLOCK: u32 = 1 << 0;
/// WRITE comes from the page cache; handle and user are guesses.
pub const WRITE_CACHE: u32 = 1 << 0;
/// WRITE: `lock_owner` is valid.
pub const WRITE_LOCKOWNER: u32 = 1 << 1;
/// WRITE: clear setuid, and setgid of a file that its group may execute.
pub const WRITE_KILL_SUIDGID: u32 = 1 << 2;
/// READ: `lock_owner` is valid.
pub const READ_LOCKOWNER: u32 = 1 << 1;
/// OPEN and CREATE with O_TRUNC: clear setuid and setgid.
pub const OPEN_KILL_SUIDGID: u32 = 1 << 0;
/// RELEASE: flush as well.
pub const RELEASE_FLUSH: u32 = 1 << 0;
/// RELEASE: drop the `flock` locks of this open file.
pub const RELEASE_FLOCK_UNLOCK: u32 = 1 << 1;
/// FSYNC: only data.
pub const FSYNC_DATA: u32 = 1 << 0;
/// SETXATTR of an access control list: clear setgid.
pub const SETXATTR_ACL_KILL_SGID: u32 = 1 << 0;
/// Invalidation of an entry: mark as expired rather than drop.
pub const EXPIRE_ONLY: u32 = 1 << 0;
