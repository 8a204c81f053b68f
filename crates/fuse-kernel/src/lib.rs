//! The Linux kernel's FUSE protocol, directly over `/dev/fuse`.
//!
//! The layer is thin: it mounts, negotiates features (INIT), and converts between bytes and typed
//! [`Operation`]s and replies. It knows nothing of any file system. A file system implements
//! [`Handler`], [`Connection::mount`]s and [`Connection::serve`]s. The example `passthrough`
//! mirrors a directory in this way.
//!
//! ```text
//! mount/      mount(2) or fusermount3, the mount table, dead mounts
//! negotiate   INIT: wanted features in, granted and missing ones out
//! session     device -> request -> Handler, on reader threads or in an event loop
//! request/    operations and their parser
//! reply/      replies, from any thread, once
//! notify      unsolicited messages: invalidation
//! abi/        the kernel's numbers and records
//! ```
//!
//! # Guarantees
//!
//! - No bytes from the kernel make it panic; a malformed message is answered with EIO.
//! - Every request is answered exactly once. A dropped [`Reply`], even one dropped by a panic of
//!   the handler, sends EIO, and so does a reply whose content the kernel refuses.
//! - An interruption reaches [`Handler::interrupt`] even if it overtakes its request, because the
//!   kernel receives EAGAIN and retries. [`Reply::is_interrupted`] covers the time until the
//!   handler has registered the waiting request.
//! - The payload of a write shares the memory that it was read into.
//! - Linux 5.10 (protocol 7.31) to 6.18 (7.45). [`Granted::missing`] names what a kernel lacks.
//!
//! # Behaviour of the kernel, as observed on Linux 6.18 and known of older ones
//!
//! With validities of zero and [`OpenFlags::DIRECT_IO`] the kernel caches neither names nor
//! attributes nor data. git, SQLite (with and without WAL), gcc with ld, strip, tar, execution and
//! private and shared mappings work in that mode.
//!
//! - **Attributes.** With `default_permissions` and without caching, every component of a path
//!   costs a LOOKUP and a GETATTR: GETATTR is half of all requests.
//! - **STATX** (6.6 on) is sent whenever a caller's mask has `STATX_BTIME`, whatever is cached:
//!   Rust's `std::fs::metadata` and GNU `stat` do, glibc's `stat` does not. After a reply of ENOSYS
//!   it is not sent again, and callers get no birth time; any other error reaches the caller.
//! - **CREATE** is sent for O_CREAT only after a LOOKUP returned ENOENT. Another mount may have
//!   created the file in between, so CREATE without O_EXCL must open an existing file. O_TRUNC is
//!   in the flags of OPEN and CREATE (`ATOMIC_O_TRUNC`).
//! - **TMPFILE** (6.1 on) is answered like CREATE; the link count is 0. Older kernels return
//!   EOPNOTSUPP to the caller.
//! - **WRITE** of 1 MiB is one request if the caller's buffer begins on a page boundary. Elsewhere
//!   it spans 257 pages, and the kernel sends 1 MiB - (offset in page) and the rest, unless the
//!   sysctl `fs.fuse.max_pages_limit` (6.13 on, 256 by default) was raised.
//! - **O_APPEND** is in [`Write::flags`]. The offset is the end that this mount's kernel has
//!   cached, so the file system must append at the true end. The kernel computes the caller's file
//!   position from its own offset, so it is too low (seen: 5 for 9) until the next seek.
//! - **setuid.** With `HANDLE_KILLPRIV_V2` (5.11 on) the kernel clears nothing itself. It sets
//!   `kill_suidgid` in WRITE, OPEN with O_TRUNC and SETATTR of the size if the caller lacks
//!   CAP_FSETID. chown is not announced in that way: the file system always clears then.
//! - **Shared mappings** of a DIRECT_IO file need `DIRECT_IO_ALLOW_MMAP` (6.6 on). Before, mmap
//!   with MAP_SHARED fails with ENODEV (SQLite's WAL mode and LMDB need it; private mappings and so
//!   execution work everywhere). Pages are read when touched, dropped at the next mmap of the file,
//!   and written back ([`Write::from_cache`]) by msync, munmap and close. They are coherent with
//!   writes through the same mount. A mapping shows old data after another mount has changed the
//!   file, until the file is mapped anew.
//! - **Parallel writes.** Without [`OpenFlags::PARALLEL_DIRECT_WRITES`] (6.2 on) the kernel sends
//!   one direct write of a file at a time. With it, extending and appending writes are still
//!   serialized.
//! - **COPY_FILE_RANGE_64** is sent by 6.18. Older kernels send COPY_FILE_RANGE, whose reply ends
//!   at 4 GiB. [`Reply::copied`] serves both.
//! - **SYNCFS** is only sent to trusted servers (virtio): syncfs(2) and sync(1) write dirty pages
//!   back and return without a request.
//! - **Locks.** close(2) sends FLUSH, which must release the `fcntl` locks of its `lock_owner`. For
//!   OFD locks (F_OFD_SETLK) the kernel sends no unlock and no owner at the end. RELEASE must
//!   release all locks that were taken through the handle, `flock` locks too. A blocked lock is a
//!   SETLKW that is answered when it is granted; a signal to its caller interrupts it.
//! - **Listings.** READDIRPLUS is sent at the start of a directory and as long as the entries are
//!   used; every entry in its reply counts as a lookup.
//! - **DESTROY** is only sent to block-device servers: the end of a mount is the end of the reader
//!   threads.
//! - **fusermount3** opens `/dev/fuse` with the user's own rights, so the node must be open to all
//!   users (mode 0666, which udev sets; a bare virtual machine may have 0600). Its `auto_unmount`
//!   leaves mounts that lack `allow_other`; [`MountOptions::auto_unmount`] works for them, too.

pub mod abi;
mod attributes;
mod device;
mod handler;
mod mount;
mod negotiate;
mod notify;
mod reply;
mod request;
mod session;

pub use abi::flags::{InitFlags, OpenFlags, SetAttrValid};
pub use attributes::{Attributes, Entry, Timestamp};
pub use handler::Handler;
pub use mount::{
    FlagChange, MountEntry, MountError, MountFlags, MountOptions, UnmountMode, Unmounter,
    clean_dead_mount, mounts, remount,
};
pub use negotiate::{Granted, NegotiateError, Wanted};
pub use notify::Notifier;
pub use reply::{DirectoryList, FileSystemUsage, Reply};
pub use request::{
    CopyFileRange, Create, Fallocate, Forget, Header, Ioctl, Lock, LockRequest, MakeNode,
    Operation, ParseError, Read, Release, Rename, Request, SetAttributes, SetTime, SetXattr, Write,
};
pub use session::{Connection, Incoming, Session, SessionError, Taken};
