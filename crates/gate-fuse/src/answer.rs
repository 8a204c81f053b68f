//! What an operation answers, in the kernel's terms.

use crate::operations::pages::UNCACHED;
use crate::translate;
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Payload};
use futago_fuse_kernel::{DirectoryList, Entry, FileSystemUsage, Forget, Lock, OpenFlags, Reply};
use futago_wire::LockChange;
use std::time::Duration;

/// Open directories need no numbers.
const NO_HANDLE: u64 = 0;

/// What became of an operation.
pub type Outcome = Result<Answer, Errno>;

/// What an operation answers.
#[derive(Debug)]
pub enum Answer {
    /// It is done.
    Done,
    /// A lock is taken or given up.
    Locked(LockChange),
    /// A name's node.
    Entry(Entry),
    /// There is no such name, and for how long that may be kept.
    Absent(Duration),
    /// What `stat` shows, and for how long it may be kept.
    Attributes(Attributes, Duration),
    /// What `statx` shows, with the birth time, and for how long it may be kept.
    Statx(Attributes, Duration),
    /// An open file, its number, and how the kernel is to treat it.
    Opened(FileId, u64, OpenFlags),
    /// An open directory.
    OpenedDirectory,
    /// A new open file.
    Created(Entry, u64),
    /// File data.
    Data(Payload),
    /// A symbolic link's target.
    Target(Bytes),
    /// An extended attribute, or names of them, and the room that the caller has; 0 asks for the
    /// length alone.
    Xattr(Bytes, u32),
    /// So many bytes were written.
    Written(u32),
    /// So many bytes were copied.
    Copied(u64),
    /// A place in a file.
    Offset(u64),
    /// How full the file system is.
    Usage(FileSystemUsage),
    /// The lock in the way, or one of kind `F_UNLCK`.
    Lock(Lock),
    /// Names of a directory.
    Listing(DirectoryList),
}

/// Gives the kernel what became of its request.
pub fn send(outcome: Outcome, reply: Reply) {
    match outcome {
        Ok(answer) => answer.send(reply),
        Err(errno) => reply.error(errno.number()),
    }
}

impl Answer {
    fn send(self, reply: Reply) {
        match self {
            Self::Done | Self::Locked(_) => reply.ok(),
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

    /// The node that the kernel would know, had it been there to be answered.
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

    /// What gives up the lock that the caller would hold, had it been there to be answered.
    pub fn unlock(&self) -> Option<LockChange> {
        match self {
            Self::Locked(change) => Some(LockChange {
                kind: None,
                ..*change
            }),
            _ => None,
        }
    }

    /// The file that the caller would have open, had it been there to be answered, and its number.
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
