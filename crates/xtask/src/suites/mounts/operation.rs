//! Operations, and what they return.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

use serde::{Deserialize, Serialize};

/// How many files each agent can hold open.
pub const SLOTS: usize = 3;

/// A request to an agent. Paths are relative to its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Create a file that must not exist.
    Create { path: String, mode: u32 },
    /// Open, write `length` bytes at `offset`, close; perhaps creating the file.
    Write {
        path: String,
        offset: u64,
        length: usize,
        fill: u8,
        create: bool,
    },
    /// Open for appending, write, close.
    Append {
        path: String,
        length: usize,
        fill: u8,
    },
    /// Open, read, close.
    Read {
        path: String,
        offset: u64,
        length: usize,
    },
    /// Open, map the whole file, read the mapping, close.
    MapRead { path: String },
    /// Set a file's size.
    Truncate { path: String, size: u64 },
    /// Remove a name.
    Unlink { path: String },
    /// Make a directory.
    MakeDirectory { path: String, mode: u32 },
    /// Remove a directory.
    RemoveDirectory { path: String },
    /// Move a name.
    Rename {
        from: String,
        to: String,
        how: Replace,
    },
    /// Give a file another name.
    Link { from: String, to: String },
    /// Make a symbolic link.
    Symlink { target: String, path: String },
    /// Read a symbolic link.
    ReadLink { path: String },
    /// Change permissions.
    ChangeMode { path: String, mode: u32 },
    /// Set access and modification time.
    SetTimes { path: String, time_ns: i64 },
    /// Attributes of what a path leads to.
    Stat { path: String },
    /// Names in a directory.
    List { path: String },
    /// Hold a file open in a slot; what was there is closed.
    Open { slot: usize, path: String },
    /// Close a slot.
    Close { slot: usize },
    /// Write to an open file.
    WriteOpen {
        slot: usize,
        offset: u64,
        length: usize,
        fill: u8,
    },
    /// Read from an open file.
    ReadOpen {
        slot: usize,
        offset: u64,
        length: usize,
    },
    /// Attributes of an open file.
    StatOpen { slot: usize },
    /// `F_SETLK` on an open file.
    LockRange {
        slot: usize,
        kind: Lock,
        start: u64,
        length: u64,
    },
    /// `flock` without waiting on an open file; a lock that is held is given up first.
    LockWhole { slot: usize, kind: Lock },
    /// The whole tree with all content.
    Tree,
}

/// The treatment of an existing target by `rename`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replace {
    /// Replaces it.
    Yes,
    /// Fails.
    Never,
    /// Swaps the two.
    Exchange,
}

/// An action on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lock {
    /// Taken together with other readers.
    Shared,
    /// Taken alone.
    Exclusive,
    /// Given up.
    Unlock,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It succeeded.
    Done,
    /// It failed with this errno.
    Error(i32),
    /// The slot holds no open file.
    NotOpen,
    /// The data of a read.
    Data(Content),
    /// A symbolic link's target.
    Target(String),
    /// Attributes.
    Attributes(Attributes),
    /// A directory's names and the types in the directory entries.
    Names(BTreeMap<String, Kind>),
    /// Everything below the directory, by path; the directory itself is the empty path.
    Tree(BTreeMap<String, Entry>),
}

/// Content without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// How many bytes.
    pub length: usize,
    /// Their hash.
    pub hash: u64,
}

impl Content {
    /// Describes `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self {
            length: bytes.len(),
            hash: hasher.finish(),
        }
    }
}

/// Types of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
}

/// Attributes that users see. The model knows some only in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// The file's type.
    pub kind: Kind,
    /// Permissions.
    pub mode: u32,
    /// Number of names; of a directory 2 and the number of its subdirectories.
    pub links: u64,
    /// Size in bytes; `None` where each file system has its own (directories).
    pub size: Option<u64>,
    /// Modification time; `None` if the model cannot know it.
    pub modified_ns: Option<i64>,
    /// The model's number of the file, or `st_ino`.
    pub inode: u64,
    /// Change time, which the model never knows.
    pub changed_ns: Option<i64>,
}

/// One file of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its attributes.
    pub attributes: Attributes,
    /// Its content: a regular file's bytes, a symbolic link's target.
    pub content: Content,
}
