//! The operations of a file system, one a file. All are methods of [`Client`](crate::Client);
//! errors are those of POSIX.

mod allocate;
mod append;
pub(crate) mod attributes;
mod chunk_size;
mod consult;
mod copy_range;
mod create;
mod create_unnamed;
mod lease;
mod link;
mod list_here;
mod lock;
mod lookup;
mod make_directory;
mod make_durable;
mod open;
mod parent;
mod read;
mod read_directory;
mod read_link;
mod remove_directory;
mod rename;
mod resolve;
mod restore;
mod search;
mod seek;
mod session;
mod set_attributes;
mod space;
mod sum_data;
mod unlink;
mod write;
mod xattr;

pub use resolve::PathStep;
pub use search::{FoundFile, Search, SearchBatch, SearchFailure, SearchOptions};
pub(crate) use write::PieceWrite;

use futago_base::{FileId, Name};

/// The treatment of an existing target by a rename, as the flags of `renameat2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenameFlags {
    /// Fail with `EEXIST` if the new name exists.
    pub no_replace: bool,
    /// Exchange the two names, which must both exist.
    pub exchange: bool,
    /// Leave a whiteout of this owner at the old name: a character device 0/0, by which an overlay
    /// file system hides a name below it.
    pub whiteout: Option<Owner>,
}

/// The treatment of a file by a creation, as the flags of `open`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateFlags {
    /// Fail with `EEXIST` if the name exists. Otherwise the existing file stays unchanged.
    pub exclusive: bool,
    /// Also open a regular file, as [`Client::open`](crate::Client::open) does.
    pub open: bool,
}

impl CreateFlags {
    /// A new node that is not opened.
    pub const EXCLUSIVE: Self = Self {
        exclusive: true,
        open: false,
    };
    /// A new file that is opened.
    pub const EXCLUSIVE_OPEN: Self = Self {
        exclusive: true,
        open: true,
    };
}

/// The owner of a new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// The mode of an allocation, as the flags of `fallocate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocateMode {
    /// Reserves space; the file grows unless `keep_size` is set.
    Allocate {
        /// Whether the size of the file stays.
        keep_size: bool,
    },
    /// Punches a hole; the size of the file stays.
    PunchHole,
    /// Zeroes the range; the file grows unless `keep_size` is set.
    ZeroRange {
        /// Whether the size of the file stays.
        keep_size: bool,
    },
}

/// Whether an extended attribute must be new or exist.
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

/// The location of a name in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameLocation {
    /// The directory.
    pub directory: FileId,
    /// The name in it.
    pub name: Name,
    /// Whether the path ended in `/`, so that the name must be of a directory
    /// ([`Client::check_slash`](crate::Client::check_slash)).
    pub must_be_directory: bool,
}
