//! Replies to the kernel.

mod directory;
pub(crate) mod send;

pub use directory::DirectoryList;

use crate::abi::flags::OpenFlags;
use crate::abi::opcode;
use crate::abi::output::{
    BmapOut, CopyFileRangeOut, CreateOut, GetXattrOut, LkOut, LseekOut, OpenOut, PollOut,
    StatfsOut, WriteOut,
};
use crate::device::Device;
use crate::{Attributes, Entry, Lock};
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;
use zerocopy::{Immutable, IntoBytes};

/// The one reply to one request, from any thread and at any time.
///
/// A dropped `Reply` sends EIO, so that no caller waits for ever. A reply is dropped silently if
/// the mount is gone.
#[derive(Debug)]
#[must_use = "dropping a reply answers EIO"]
pub struct Reply {
    unique: u64,
    opcode: u32,
    device: Arc<Device>,
    is_answered: bool,
}

/// The figures of statfs(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSystemUsage {
    /// Capacity in blocks of `block_size`.
    pub blocks: u64,
    /// Free blocks.
    pub blocks_free: u64,
    /// Free blocks for others than root.
    pub blocks_available: u64,
    /// Capacity in inodes.
    pub files: u64,
    /// Free inodes.
    pub files_free: u64,
    /// Bytes in a block; also `f_frsize`.
    pub block_size: u32,
    /// Longest name in bytes.
    pub name_length: u32,
}

impl Reply {
    pub(crate) fn new(unique: u64, opcode: u32, device: Arc<Device>) -> Self {
        Self {
            unique,
            opcode,
            device,
            is_answered: false,
        }
    }

    /// The request's unique id, which an interruption refers to.
    #[must_use]
    pub fn unique(&self) -> u64 {
        self.unique
    }

    /// Whether an interruption of this request has arrived.
    ///
    /// `Handler::interrupt` may run before the handler has registered the waiting request. So the
    /// handler must call this once after it has registered the request.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.device.is_interrupted(self.unique)
    }

    /// Success without content.
    pub fn ok(self) {
        self.send(&[]);
    }

    /// Failure with an errno (1 to 511; anything else becomes EIO).
    pub fn error(mut self, errno: i32) {
        self.fail(errno);
    }

    /// An inode with a name: Lookup, Symlink, MakeNode, MakeDirectory, Link.
    pub fn entry(self, entry: &Entry) {
        self.record(&entry.to_abi());
    }

    /// Lookup of a name that does not exist. The kernel may cache the negative entry for `valid`;
    /// it learns of no node.
    pub fn absent(self, valid: Duration) {
        self.entry(&Entry {
            entry_valid: valid,
            ..Entry::default()
        });
    }

    /// GetAttributes and SetAttributes. The kernel may cache them for `valid`.
    pub fn attributes(self, attributes: &Attributes, valid: Duration) {
        self.record(&attributes.to_attr_out(valid));
    }

    /// Statx.
    pub fn statx(self, attributes: &Attributes, valid: Duration) {
        self.record(&attributes.to_statx_out(valid));
    }

    /// Open and OpenDirectory: every operation on the open file carries `handle`.
    pub fn opened(self, handle: u64, flags: OpenFlags) {
        self.record(&open_out(handle, flags));
    }

    /// Create and TemporaryFile.
    pub fn created(self, entry: &Entry, handle: u64, flags: OpenFlags) {
        self.record(&CreateOut {
            entry: entry.to_abi(),
            open: open_out(handle, flags),
        });
    }

    /// Read, ReadLink, GetXattr, ListXattr: bytes.
    pub fn data(self, data: &[u8]) {
        self.send(&[IoSlice::new(data)]);
    }

    /// As `data`, gathered from several slices without a copy.
    pub fn data_vectored(self, data: &[IoSlice<'_>]) {
        self.send(data);
    }

    /// ReadDirectory and ReadDirectoryPlus; an empty list is the end of the directory.
    pub fn directory(self, list: &DirectoryList) {
        self.data(list.as_bytes());
    }

    /// Write: the number of written bytes.
    pub fn written(self, bytes: u32) {
        self.record(&WriteOut {
            size: bytes,
            padding: 0,
        });
    }

    /// CopyFileRange: the number of copied bytes. The reply to the older request is capped at 4
    /// GiB, which callers of copy_file_range must expect.
    pub fn copied(self, bytes: u64) {
        if self.opcode == opcode::COPY_FILE_RANGE_64 {
            self.record(&CopyFileRangeOut {
                bytes_copied: bytes,
            });
        } else {
            self.written(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }

    /// StatFs.
    pub fn statfs(self, usage: &FileSystemUsage) {
        self.record(&StatfsOut {
            blocks: usage.blocks,
            bfree: usage.blocks_free,
            bavail: usage.blocks_available,
            files: usage.files,
            ffree: usage.files_free,
            bsize: usage.block_size,
            namelen: usage.name_length,
            frsize: usage.block_size,
            ..StatfsOut::default()
        });
    }

    /// GetXattr and ListXattr with size 0: the size in bytes.
    pub fn xattr_size(self, bytes: u32) {
        self.record(&GetXattrOut {
            size: bytes,
            padding: 0,
        });
    }

    /// GetLock: a conflicting lock, or one of kind F_UNLCK.
    pub fn lock(self, lock: &Lock) {
        let (start, end, kind, pid) = (lock.start, lock.end, lock.kind, lock.pid);
        self.record(&LkOut {
            start,
            end,
            kind,
            pid,
        });
    }

    /// Seek: the offset found.
    pub fn offset(self, offset: u64) {
        self.record(&LseekOut { offset });
    }

    /// MapBlock: the block's number on the device.
    pub fn block(self, block: u64) {
        self.record(&BmapOut { block });
    }

    /// Poll: the events that are ready.
    pub fn events(self, events: u32) {
        self.record(&PollOut {
            revents: events,
            padding: 0,
        });
    }

    fn record<T: IntoBytes + Immutable>(self, record: &T) {
        self.data(record.as_bytes());
    }
}

fn open_out(handle: u64, flags: OpenFlags) -> OpenOut {
    OpenOut {
        fh: handle,
        open_flags: flags.bits(),
        padding: 0,
    }
}
