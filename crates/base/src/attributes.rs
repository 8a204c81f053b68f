//! The attributes that `stat` reports.

use crate::{FileId, Timestamp};
use serde::{Deserialize, Serialize};

/// The kind of node that a file id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
}

/// The attributes of a file, as `statx` reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// The file's identity, `st_ino`.
    pub id: FileId,
    /// The kind of node.
    pub kind: Kind,
    /// Permission bits with set-user-id, set-group-id and sticky: the low 12 bits of `st_mode`.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names; for a directory 2 plus one per subdirectory.
    pub links: u32,
    /// Size in bytes; for a directory its number of entries.
    pub size: u64,
    /// Device number of a device node.
    pub device: u32,
    /// Last access, updated as `relatime` does.
    pub accessed: Timestamp,
    /// Last change of the contents.
    pub modified: Timestamp,
    /// Last change of contents or attributes.
    pub changed: Timestamp,
    /// Birth.
    pub born: Timestamp,
    /// The chunk size of a regular file, in bytes, reported as `st_blksize`; that of new files in a
    /// directory, and 0 if the directory has none.
    pub chunk_bytes: u32,
    /// The bytes of a regular file that are data and not hole; `st_blocks` counts them in 512
    /// bytes. `None` if the servers of its chunks have to be asked.
    pub allocated_bytes: Option<u64>,
}
