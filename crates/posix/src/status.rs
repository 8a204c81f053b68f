//! The result of `stat`.

use futago_base::{Attributes, Timestamp};
use futago_files::stat;
use std::mem::zeroed;

/// The attributes as C programs know them.
pub fn of(attributes: &Attributes) -> libc::stat {
    // SAFETY: all fields are numbers, of which any value is valid.
    let mut status: libc::stat = unsafe { zeroed() };
    status.st_ino = attributes.id.0;
    status.st_mode = stat::mode(attributes);
    status.st_nlink = attributes.links.into();
    status.st_uid = attributes.uid;
    status.st_gid = attributes.gid;
    status.st_rdev = attributes.device.into();
    status.st_size = attributes.size as i64;
    status.st_blocks = stat::blocks(attributes) as i64;
    status.st_blksize = stat::preferred_bytes(attributes).into();
    (status.st_atime, status.st_atime_nsec) = time(attributes.accessed);
    (status.st_mtime, status.st_mtime_nsec) = time(attributes.modified);
    (status.st_ctime, status.st_ctime_nsec) = time(attributes.changed);
    status
}

fn time(time: Timestamp) -> (i64, i64) {
    (time.seconds, time.nanos.into())
}
