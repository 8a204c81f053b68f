//! The metadata that a copy keeps.

use futago_base::{Attributes, Kind, Timestamp};
use rustix::fs::{major, makedev, minor};
use serde::{Deserialize, Serialize};
use std::{
    fs::Metadata,
    os::unix::fs::{FileTypeExt, MetadataExt},
};

/// The metadata of a node of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeMetadata {
    /// The identity of the node within its side.
    pub identity: Identity,
    /// The kind of node.
    pub kind: Kind,
    /// The low 12 bits of `st_mode`.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names.
    pub links: u64,
    /// Size in bytes of a regular file.
    pub size: u64,
    /// Number of a device node, as Linux encodes it in 32 bits.
    pub device: u32,
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the contents.
    pub modified: Timestamp,
    /// Last change of contents or attributes.
    pub changed: Timestamp,
}

/// The identity of a node within its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// The device; 0 in a cluster.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
}

impl NodeMetadata {
    /// Whether a target with this metadata is a whole copy of `source`: a copy gets its name and
    /// its time of modification only when its data is complete.
    pub fn is_copy_of(&self, source: &Self) -> bool {
        let same_content = match source.kind {
            Kind::File => self.size == source.size,
            Kind::CharacterDevice | Kind::BlockDevice => self.device == source.device,
            _ => true,
        };
        self.kind == source.kind && self.modified == source.modified && same_content
    }

    /// Whether mode and owner are those of `source`.
    pub fn has_attributes_of(&self, source: &Self, owner: Owner) -> bool {
        let same_owner = (self.uid, self.gid) == (source.uid, source.gid);
        (self.mode == source.mode || source.kind == Kind::Symlink)
            && (same_owner || owner == Owner::Unchanged)
    }

    /// Whether the node is unchanged since `earlier`.
    pub fn is_unchanged_since(&self, earlier: &Self) -> bool {
        (self.identity, self.size, self.modified, self.changed)
            == (
                earlier.identity,
                earlier.size,
                earlier.modified,
                earlier.changed,
            )
    }
}

/// Whether copies get the owner of their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Owner {
    /// They do; only root may.
    Copied,
    /// They belong to the copying user.
    Unchanged,
}

impl Owner {
    /// The rule for this process.
    pub fn of_this_process() -> Self {
        match rustix::process::geteuid().is_root() {
            true => Self::Copied,
            false => Self::Unchanged,
        }
    }
}

impl From<&Attributes> for NodeMetadata {
    fn from(attributes: &Attributes) -> Self {
        Self {
            identity: Identity {
                device: 0,
                inode: attributes.id.0,
            },
            kind: attributes.kind,
            mode: attributes.mode,
            uid: attributes.uid,
            gid: attributes.gid,
            links: attributes.links.into(),
            size: attributes.size,
            device: attributes.device,
            accessed: attributes.accessed,
            modified: attributes.modified,
            changed: attributes.changed,
        }
    }
}

impl From<&Metadata> for NodeMetadata {
    fn from(metadata: &Metadata) -> Self {
        let time = |seconds, nanos: i64| Timestamp {
            seconds,
            nanos: nanos as u32,
        };
        Self {
            identity: Identity {
                device: metadata.dev(),
                inode: metadata.ino(),
            },
            kind: kind(metadata),
            mode: (metadata.mode() & 0o7777) as u16,
            uid: metadata.uid(),
            gid: metadata.gid(),
            links: metadata.nlink(),
            size: metadata.size(),
            device: encoded(metadata.rdev()),
            accessed: time(metadata.atime(), metadata.atime_nsec()),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

fn kind(metadata: &Metadata) -> Kind {
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => Kind::Directory,
        () if kind.is_symlink() => Kind::Symlink,
        () if kind.is_fifo() => Kind::Fifo,
        () if kind.is_socket() => Kind::Socket,
        () if kind.is_char_device() => Kind::CharacterDevice,
        () if kind.is_block_device() => Kind::BlockDevice,
        () => Kind::File,
    }
}

/// A device number in 32 bits: 12 of the major number between 8 and 12 of the minor one.
fn encoded(device: u64) -> u32 {
    let (major, minor) = (major(device), minor(device));
    (minor & 0xff) | (major & 0xfff) << 8 | (minor & !0xff) << 12
}

/// The device number of 32 bits as the local system has it.
pub fn decoded(device: u32) -> u64 {
    makedev(device >> 8 & 0xfff, device & 0xff | device >> 12 & !0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_survive_their_encoding() {
        for (major, minor) in [(1, 3), (259, 7), (8, 0x12345)] {
            assert_eq!(
                decoded(encoded(makedev(major, minor))),
                makedev(major, minor)
            );
        }
    }
}
