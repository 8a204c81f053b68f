//! The steps of a copy, and their outcomes.

use crate::{Failure, NodeMetadata, TreePath};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A node to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its path at the source.
    pub source: TreePath,
    /// Its path at the target.
    pub target: TreePath,
    /// Its metadata at the source.
    pub metadata: NodeMetadata,
    /// The node that the target has at that path.
    pub found: Found,
}

/// The node that a target has at the path of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    /// Nothing, or another file.
    Other,
    /// Probably a whole copy: kind, size and time of modification are those of the source.
    Whole(NodeMetadata),
}

/// A range of bytes of a large file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The file.
    pub item: Item,
    /// The bytes.
    pub bytes: Range<u64>,
}

/// A further name of a file with several names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FurtherName {
    /// The copy's first name.
    pub first: TreePath,
    /// The further name, at the source.
    pub source: TreePath,
    /// The further name, at the target.
    pub further: TreePath,
}

/// A step that one client takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Makes a directory and lists what belongs into it.
    Directory(Item),
    /// Copies nodes other than directories, with all of their data.
    Nodes(Vec<Item>),
    /// Begins to copy a large file under its temporary name, or continues an earlier run.
    Begin(Item),
    /// Copies a range of a large file to its temporary name.
    Part(Part),
    /// Records the ranges of a large file that are copied, for a later run.
    Record(Item, Vec<Range<u64>>),
    /// Gives a large file its name.
    Finish(Item),
    /// Links further names to copied files.
    Names(Vec<FurtherName>),
    /// Sets the attributes of directories.
    DirectoryAttributes(Vec<Item>),
    /// Waits until everything that this client's host has written below a path survives a crash.
    Synchronize(TreePath),
}

/// The outcome of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The entries of a directory.
    pub entries: Vec<Item>,
    /// The ranges of a large file that an earlier run has copied.
    pub present: Vec<Range<u64>>,
    /// Nodes that were copied or found whole.
    pub done: Vec<Done>,
    /// The bytes of data that were written.
    pub bytes: u64,
    /// The nodes that were not copied.
    pub failures: Vec<Failure>,
}

/// A node that the target has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Done {
    /// It was copied.
    Copied(futago_base::Kind),
    /// It was there.
    Present,
}
