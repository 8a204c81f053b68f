//! The attributes of an inode in a reply.

use crate::abi::output::{Attr, AttrOut, EntryOut, Statx, StatxOut, StatxTime};
use std::time::Duration;

/// A point in time: seconds since 1970, which may be negative, and nanoseconds after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

/// The attributes of an inode, as stat(2) and statx(2) show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `st_ino`; need not be the node id.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Allocated 512-byte units.
    pub blocks: u64,
    /// Last access.
    pub atime: Timestamp,
    /// Last modification of the content.
    pub mtime: Timestamp,
    /// Last change of content or attributes.
    pub ctime: Timestamp,
    /// Creation; users only see it through `Reply::statx`.
    pub btime: Timestamp,
    /// Type and permissions.
    pub mode: u32,
    /// Number of names.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device number of a device node: `minor & 0xff | major << 8 | (minor & !0xff) << 12`.
    pub device: u32,
    /// Preferred size of I/O in bytes.
    pub block_size: u32,
}

/// The inode of a name. The default validities are zero, so that the kernel caches nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Node id. The kernel counts one more lookup of it, until a forget subtracts it.
    pub node: u64,
    /// Distinguishes inodes that use one node id over time.
    pub generation: u64,
    /// The inode's attributes.
    pub attributes: Attributes,
    /// How long the kernel may use the name without a request.
    pub entry_valid: Duration,
    /// How long the kernel may use the attributes without a request.
    pub attributes_valid: Duration,
}

impl Attributes {
    pub(crate) fn to_abi(self) -> Attr {
        Attr {
            ino: self.inode,
            size: self.size,
            blocks: self.blocks,
            atime: self.atime.seconds.cast_unsigned(),
            mtime: self.mtime.seconds.cast_unsigned(),
            ctime: self.ctime.seconds.cast_unsigned(),
            atimensec: self.atime.nanoseconds,
            mtimensec: self.mtime.nanoseconds,
            ctimensec: self.ctime.nanoseconds,
            mode: self.mode,
            nlink: self.links,
            uid: self.uid,
            gid: self.gid,
            rdev: self.device,
            blksize: self.block_size,
            flags: 0,
        }
    }

    pub(crate) fn to_attr_out(self, valid: Duration) -> AttrOut {
        AttrOut {
            attr_valid: valid.as_secs(),
            attr_valid_nsec: valid.subsec_nanos(),
            dummy: 0,
            attr: self.to_abi(),
        }
    }

    pub(crate) fn to_statx_out(self, valid: Duration) -> StatxOut {
        StatxOut {
            attr_valid: valid.as_secs(),
            attr_valid_nsec: valid.subsec_nanos(),
            stat: self.to_statx(),
            ..StatxOut::default()
        }
    }

    fn to_statx(self) -> Statx {
        let time = |time: Timestamp| StatxTime {
            tv_sec: time.seconds,
            tv_nsec: time.nanoseconds,
            reserved: 0,
        };
        Statx {
            mask: libc::STATX_BASIC_STATS | libc::STATX_BTIME,
            blksize: self.block_size,
            nlink: self.links,
            uid: self.uid,
            gid: self.gid,
            mode: (self.mode & 0xffff) as u16,
            ino: self.inode,
            size: self.size,
            blocks: self.blocks,
            atime: time(self.atime),
            btime: time(self.btime),
            ctime: time(self.ctime),
            mtime: time(self.mtime),
            rdev_major: (self.device >> 8) & 0xfff,
            rdev_minor: (self.device & 0xff) | ((self.device >> 12) & 0xf_ff00),
            ..Statx::default()
        }
    }
}

impl Entry {
    pub(crate) fn to_abi(self) -> EntryOut {
        EntryOut {
            nodeid: self.node,
            generation: self.generation,
            entry_valid: self.entry_valid.as_secs(),
            attr_valid: self.attributes_valid.as_secs(),
            entry_valid_nsec: self.entry_valid.subsec_nanos(),
            attr_valid_nsec: self.attributes_valid.subsec_nanos(),
            attr: self.attributes.to_abi(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_split_as_the_kernel_splits_them() {
        let (major, minor) = (0xabc, 0x5_4321);
        let device = (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12);
        let statx = Attributes {
            device,
            ..Attributes::default()
        }
        .to_statx();
        assert_eq!((statx.rdev_major, statx.rdev_minor), (major, minor));
    }
}
