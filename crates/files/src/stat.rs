//! The numbers that `stat` and `statfs` report, and the changes that `chown` implies.

use futago_base::{Attributes, Kind, Space};
use futago_wire::AttributeChange;

/// The unit of `st_blocks`, in bytes.
const STAT_BLOCK_BYTES: u64 = 512;
/// The smallest `st_blksize`.
const PREFERRED_BYTES_MIN: u32 = 4096;
/// The largest `st_blksize`: C libraries read that much into the buffer of every stream, also to
/// give a program only the next few bytes.
const PREFERRED_BYTES_MAX: u32 = 128 << 10;
/// The unit in which `statfs` reports space, in bytes.
const BLOCK_BYTES: u32 = 4096;
/// The rough memory of an empty file, for the estimate of free inodes.
const FILE_BYTES: u64 = 1024;

/// The type bits of `st_mode`, as Linux has them.
pub const fn type_bits(kind: Kind) -> u32 {
    match kind {
        Kind::Fifo => 0o010_000,
        Kind::CharacterDevice => 0o020_000,
        Kind::Directory => 0o040_000,
        Kind::BlockDevice => 0o060_000,
        Kind::File => 0o100_000,
        Kind::Symlink => 0o120_000,
        Kind::Socket => 0o140_000,
    }
}

/// `st_mode`: the type and the permission bits.
pub const fn mode(of: &Attributes) -> u32 {
    type_bits(of.kind) | of.mode as u32
}

/// `st_blocks`: the allocated blocks of 512 bytes.
pub fn blocks(of: &Attributes) -> u64 {
    match of.kind {
        Kind::File => {
            let bytes = of.allocated_bytes.unwrap_or(of.size);
            bytes.div_ceil(STAT_BLOCK_BYTES)
        }
        _ => 0,
    }
}

/// `st_blksize`: the preferred size of a read or write, in bytes.
pub fn preferred_bytes(of: &Attributes) -> u32 {
    match of.kind {
        Kind::File => of
            .chunk_bytes
            .clamp(PREFERRED_BYTES_MIN, PREFERRED_BYTES_MAX),
        _ => PREFERRED_BYTES_MIN,
    }
}

/// The occupancy of a file system, as `statfs` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The size of a block, in bytes.
    pub block_bytes: u32,
    /// All blocks.
    pub blocks: u64,
    /// The free blocks.
    pub blocks_free: u64,
    /// The files that exist, and those that could.
    pub files: u64,
    /// The files that could exist as well.
    pub files_free: u64,
}

impl Usage {
    /// The occupancy of a cluster.
    pub const fn of(space: &Space) -> Self {
        let free_bytes = space.free_bytes();
        let files_free = free_bytes / FILE_BYTES;
        Self {
            block_bytes: BLOCK_BYTES,
            blocks: space.limit_bytes / BLOCK_BYTES as u64,
            blocks_free: free_bytes / BLOCK_BYTES as u64,
            files: space.files + files_free,
            files_free,
        }
    }
}

/// A change as the system calls make it: a change of owner clears set-user-id for every caller.
#[must_use]
pub const fn with_implied(change: AttributeChange) -> AttributeChange {
    let changes_owner = change.uid.is_some() || change.gid.is_some();
    AttributeChange {
        kill_privileges: change.kill_privileges || changes_owner,
        ..change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_owner_clears_set_user_id() {
        let mode = AttributeChange {
            mode: Some(0o4755),
            ..AttributeChange::default()
        };
        assert!(!with_implied(mode).kill_privileges);
        let group = AttributeChange {
            gid: Some(7),
            ..mode
        };
        assert!(with_implied(group).kill_privileges);
    }

    #[test]
    fn space_is_counted_in_blocks_and_rough_files() {
        let space = Space {
            limit_bytes: 1 << 20,
            used_bytes: 1 << 19,
            files: 3,
        };
        let usage = Usage::of(&space);
        assert_eq!((usage.blocks, usage.blocks_free), (256, 128));
        assert_eq!((usage.files, usage.files_free), (515, 512));
    }
}
