//! The two sides of a copy.

mod cluster;
mod local;

pub use cluster::ClusterTree;
pub use local::LocalTree;

use crate::{Failure, NodeMetadata, Result, TreePath};
use bytes::Bytes;

/// An extended attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xattr {
    /// Its name.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
}

/// A name in a directory.
#[derive(Clone, Debug)]
pub struct TreeEntry {
    /// The name.
    pub name: Vec<u8>,
    /// Its node.
    pub metadata: NodeMetadata,
}

/// The entries of a directory.
#[derive(Clone, Debug, Default)]
pub struct TreeListing {
    /// The entries that could be read.
    pub entries: Vec<TreeEntry>,
    /// The reasons why others could not.
    pub failures: Vec<Failure>,
}

/// Whether the last name of a path is followed if it is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// It is.
    Followed,
    /// The link itself is meant.
    Unfollowed,
}

/// A file system that trees are copied from and to. Errors name the path.
///
/// All of a node but its name is reached through [`Tree::Node`], so that a file that is renamed
/// meanwhile is not confused with another.
pub trait Tree: Send + Sync {
    /// A node that can be read or changed.
    type Node: Send;

    /// The metadata of a path, if it exists.
    fn metadata(&self, path: &TreePath, links: Links) -> Result<Option<NodeMetadata>>;
    /// The entries of a directory. Entries that vanish meanwhile are left out.
    fn list(&self, directory: &TreePath) -> TreeListing;
    /// A node for reading. It fails if the path has another node by now.
    fn open(&self, path: &TreePath, metadata: &NodeMetadata) -> Result<Self::Node>;
    /// A file for more writes.
    fn open_to_write(&self, path: &TreePath, metadata: &NodeMetadata) -> Result<Self::Node>;

    /// A new empty file, which this user alone can read. The path must not exist.
    fn create_file(&self, path: &TreePath) -> Result<Self::Node>;
    /// A new file of this size, whose data a restorer brings when a program needs it.
    fn create_released(&self, path: &TreePath, size: u64) -> Result<Self::Node>;
    /// A new symbolic link.
    fn create_symlink(&self, path: &TreePath, target: &[u8]) -> Result<Self::Node>;
    /// A new pipe, socket or device as `like`.
    fn create_special(&self, path: &TreePath, like: &NodeMetadata) -> Result<Self::Node>;
    /// Makes a directory of this mode; an existing one becomes writable to its owner.
    fn make_directory(&self, path: &TreePath, mode: u16) -> Result<()>;
    /// One more name for a file.
    fn link(&self, path: &TreePath, new: &TreePath) -> Result<()>;
    /// Renames; replaces what is no directory.
    fn rename(&self, from: &TreePath, to: &TreePath) -> Result<()>;
    /// Removes a name that is no directory's, if it exists.
    fn remove(&self, path: &TreePath) -> Result<()>;

    /// The current metadata of a node.
    fn metadata_of(&self, node: &Self::Node) -> Result<NodeMetadata>;
    /// Reads; fewer bytes only at the end of the file.
    fn read(&self, node: &Self::Node, offset: u64, length: u32) -> Result<Bytes>;
    /// Writes all of it.
    fn write(&self, node: &Self::Node, offset: u64, data: Bytes) -> Result<()>;
    /// The start of the next data at or after an offset.
    fn next_data(&self, node: &Self::Node, offset: u64) -> Result<Option<u64>>;
    /// The end of the data at an offset.
    fn next_hole(&self, node: &Self::Node, offset: u64) -> Result<u64>;
    /// Sets the size.
    fn set_size(&self, node: &Self::Node, size: u64) -> Result<()>;
    /// The target of a symbolic link.
    fn read_link(&self, node: &Self::Node) -> Result<Vec<u8>>;
    /// The extended attributes that mean the same everywhere, ordered by name.
    fn xattrs(&self, node: &Self::Node) -> Result<Vec<Xattr>>;
    /// Sets an extended attribute.
    fn set_xattr(&self, node: &Self::Node, xattr: &Xattr) -> Result<()>;
    /// Removes an extended attribute, if it exists.
    fn remove_xattr(&self, node: &Self::Node, name: &[u8]) -> Result<()>;
    /// Sets the owner. It may clear bits of the mode, and attributes.
    fn set_owner(&self, node: &Self::Node, of: &NodeMetadata) -> Result<()>;
    /// Sets mode and times.
    fn set_attributes(&self, node: &Self::Node, of: &NodeMetadata) -> Result<()>;
    /// Waits until the data of a file survives a crash as far as the tree promises.
    fn synchronize(&self, node: &Self::Node) -> Result<()>;
    /// The same for everything below a path.
    fn synchronize_all(&self, below: &TreePath) -> Result<()>;
}
