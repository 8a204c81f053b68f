//! The operations of a file system, one a file. All of them are methods of
//! [`Client`](crate::Client); errors are those of POSIX.

mod allocate;
mod append;
mod attributes;
mod copy_range;
mod create;
mod create_unnamed;
mod lease;
mod link;
mod lock;
mod lookup;
mod make_directory;
mod open;
mod parent;
mod read;
mod read_directory;
mod read_link;
mod remove_directory;
mod rename;
mod resolve;
mod seek;
mod session;
mod set_attributes;
mod space;
mod sum_data;
mod unlink;
mod write;
mod xattr;

pub use resolve::PathStep;

use futago_base::{FileId, Name};

/// How a rename treats an existing target, as the flags of `renameat2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenameFlags {
    /// Fail with `EEXIST` if the new name exists.
    pub no_replace: bool,
    /// Exchange the two names, which must both exist.
    pub exchange: bool,
    /// Leave a whiteout of this owner where the old name was: a character device 0/0, by which an
    /// overlay file system hides a name that lies below.
    pub whiteout: Option<Owner>,
}

/// Whom a new node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// What an allocation does, as the flags of `fallocate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocateMode {
    /// Makes sure of the space; grows the file unless `keep_size` is set.
    Allocate {
        /// Do not change the file's size.
        keep_size: bool,
    },
    /// Makes a hole; the file's size stays.
    PunchHole,
    /// Makes the range read as zeros; grows the file unless `keep_size` is set.
    ZeroRange {
        /// Do not change the file's size.
        keep_size: bool,
    },
}

/// Whether an extended attribute must be new or old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XattrMode {
    /// Either.
    #[default]
    Set,
    /// It must not exist: `EEXIST`.
    Create,
    /// It must exist: `ENODATA`.
    Replace,
}

/// A place for a name in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub directory: FileId,
    /// The name in it.
    pub name: Name,
    /// Whether the path ended in `/`: the name must be a directory's.
    pub must_be_directory: bool,
}
