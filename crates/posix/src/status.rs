//! The result of `stat`.

use futago_base::{Attributes, Kind, Timestamp};
use std::mem::zeroed;

/// The unit of `st_blocks`, in bytes.
const BLOCK_BYTES: u64 = 512;
/// The smallest `st_blksize`, that of a directory.
const PREFERRED_BYTES_MIN: u32 = 4096;

/// The type bits of `st_mode`.
const fn file_type(kind: Kind) -> u32 {
    match kind {
        Kind::File => libc::S_IFREG,
        Kind::Directory => libc::S_IFDIR,
        Kind::Symlink => libc::S_IFLNK,
        Kind::Fifo => libc::S_IFIFO,
        Kind::Socket => libc::S_IFSOCK,
        Kind::CharacterDevice => libc::S_IFCHR,
        Kind::BlockDevice => libc::S_IFBLK,
    }
}

/// The attributes as C programs know them.
pub fn of(attributes: &Attributes) -> libc::stat {
    // SAFETY: all fields are numbers, of which any value is valid.
    let mut status: libc::stat = unsafe { zeroed() };
    status.st_ino = attributes.id.0;
    status.st_mode = file_type(attributes.kind) | u32::from(attributes.mode);
    status.st_nlink = attributes.links.into();
    status.st_uid = attributes.uid;
    status.st_gid = attributes.gid;
    status.st_rdev = attributes.device.into();
    status.st_size = attributes.size as i64;
    if attributes.kind == Kind::File {
        let allocated_bytes = attributes.allocated_bytes.unwrap_or(attributes.size);
        status.st_blocks = allocated_bytes.div_ceil(BLOCK_BYTES) as i64;
    }
    status.st_blksize = attributes.chunk_bytes.max(PREFERRED_BYTES_MIN).into();
    (status.st_atime, status.st_atime_nsec) = time(attributes.accessed);
    (status.st_mtime, status.st_mtime_nsec) = time(attributes.modified);
    (status.st_ctime, status.st_ctime_nsec) = time(attributes.changed);
    status
}

fn time(time: Timestamp) -> (i64, i64) {
    (time.seconds, time.nanos.into())
}
