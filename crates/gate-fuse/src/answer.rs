//! The results of operations, in the kernel's terms.

use crate::operations::pages::UNCACHED;
use crate::translate;
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Payload};
use futago_files::OpenFile;
use futago_fuse_kernel::{DirectoryList, Entry, FileSystemUsage, Forget, Lock, OpenFlags, Reply};
use futago_wire::LockChange;
use std::sync::Arc;
use std::time::Duration;

/// Open directories need no handles.
const NO_HANDLE: u64 = 0;

/// The outcome of an operation.
pub type Outcome = Result<Answer, Errno>;

/// The result of an operation.
#[derive(Debug)]
pub enum Answer {
    /// Success without content.
    Done,
    /// A lock of an open file is acquired or released.
    Locked(Arc<OpenFile>, LockChange),
    /// A name's node.
    Entry(Entry),
    /// The name does not exist; the kernel may cache that for this long.
    Absent(Duration),
    /// The attributes for `stat`, and how long the kernel may cache them.
    Attributes(Attributes, Duration),
    /// The attributes for `statx`, with the birth time, and how long the kernel may cache them.
    Statx(Attributes, Duration),
    /// An open file, its handle, and how the kernel must treat it.
    Opened(FileId, u64, OpenFlags),
    /// An open directory.
    OpenedDirectory,
    /// A new open file.
    Created(Entry, u64),
    /// File data.
    Data(Payload),
    /// A symbolic link's target.
    Target(Bytes),
    /// An extended attribute, or a list of names, and the caller's buffer size; 0 requests only the
    /// length.
    Xattr(Bytes, u32),
    /// The number of written bytes.
    Written(u32),
    /// The number of copied bytes.
    Copied(u64),
    /// An offset in a file.
    Offset(u64),
    /// The occupancy of the file system.
    Usage(FileSystemUsage),
    /// The conflicting lock, or one of kind `F_UNLCK`.
    Lock(Lock),
    /// Names of a directory.
    Listing(DirectoryList),
}

/// Replies to a request of the kernel.
pub fn send(outcome: Outcome, reply: Reply) {
    match outcome {
        Ok(answer) => answer.send(reply),
        Err(errno) => reply.error(errno.number()),
    }
}

impl Answer {
    fn send(self, reply: Reply) {
        match self {
            Self::Done | Self::Locked(..) => reply.ok(),
            Self::Entry(entry) => reply.entry(&entry),
            Self::Absent(valid) => reply.absent(valid),
            Self::Attributes(of, valid) => reply.attributes(&translate::attributes(&of), valid),
            Self::Statx(of, valid) => reply.statx(&translate::attributes(&of), valid),
            Self::Opened(_, handle, flags) => reply.opened(handle, flags),
            Self::OpenedDirectory => reply.opened(NO_HANDLE, OpenFlags::empty()),
            Self::Created(entry, handle) => reply.created(&entry, handle, UNCACHED),
            Self::Data(data) => reply.data(&data.bytes()),
            Self::Target(target) => reply.data(&target),
            Self::Xattr(value, room) => send_xattr(&value, room as usize, reply),
            Self::Written(bytes) => reply.written(bytes),
            Self::Copied(bytes) => reply.copied(bytes),
            Self::Offset(offset) => reply.offset(offset),
            Self::Usage(usage) => reply.statfs(&usage),
            Self::Lock(lock) => reply.lock(&lock),
            Self::Listing(list) => reply.directory(&list),
        }
    }

    /// The node whose lookup must be undone if the caller is gone.
    pub const fn node(&self) -> Option<Forget> {
        match self {
            Self::Entry(Entry { node, .. }) | Self::Created(Entry { node, .. }, _) => {
                Some(Forget {
                    node: *node,
                    lookups: 1,
                })
            }
            _ => None,
        }
    }

    /// The change that releases the lock again if the caller is gone.
    pub fn unlock(&self) -> Option<(Arc<OpenFile>, LockChange)> {
        let Self::Locked(open, change) = self else {
            return None;
        };
        let unlock = LockChange {
            kind: None,
            ..*change
        };
        Some((Arc::clone(open), unlock))
    }

    /// The opened file, and its handle, to close if the caller is gone.
    pub const fn opened_file(&self) -> Option<(FileId, u64)> {
        match self {
            Self::Opened(id, handle, _) => Some((*id, *handle)),
            Self::Created(entry, handle) => Some((FileId(entry.node), *handle)),
            _ => None,
        }
    }
}

fn send_xattr(value: &[u8], room: usize, reply: Reply) {
    match u32::try_from(value.len()) {
        Err(_) => reply.error(Errno::ERANGE.number()),
        Ok(bytes) if room == 0 => reply.xattr_size(bytes),
        Ok(_) if room < value.len() => reply.error(Errno::ERANGE.number()),
        Ok(_) => reply.data(value),
    }
}
