//! Performs the tasks of a copy.

mod data;
mod directory;
mod large;
mod names;
mod node;
mod restore;

use crate::{
    Answer, Failure, Item, NodeMetadata, Owner, Result, Task, Tree, TreePath, Xattr, temporary,
};
use serde::{Deserialize, Serialize};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// How a copy is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Whether copies get the owners of their sources.
    pub owner: Owner,
    /// The nodes that the target has already.
    pub present: Present,
    /// Whether copied data is read again and compared.
    pub verification: Verification,
    /// Whether a server that does not answer ends the copy.
    pub unreachable: Unreachable,
    /// Files of more bytes are copied in parts of this size, by several clients.
    pub part_bytes: u64,
    /// The data of copied files.
    pub contents: Contents,
}

/// The data of a copied file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contents {
    /// It has that of its source.
    Copied,
    /// It has none; a restorer brings it when a program needs it. Only clusters have such files.
    Released,
}

/// The consequence of a server that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unreachable {
    /// The copy ends, because each of the server's files takes as long until it fails.
    EndsCopy,
    /// The files of other servers are copied.
    SkipsFile,
}

/// The treatment of a node that the target has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Present {
    /// It is copied anew.
    Replaced,
    /// It stays if kind, size and time of modification are those of the source.
    SameMetadata,
    /// It stays if its data is that of the source, too.
    SameData,
}

/// Whether copied data is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verification {
    /// It is, and its checksums are compared with those of the source.
    Checksums,
    /// It is not.
    Omitted,
}

/// A client that performs tasks.
pub trait Perform: Send + Sync {
    /// Performs a task.
    fn perform(&self, task: &Task) -> Answer;
}

/// A client that copies between two trees.
pub struct Copier<S, T> {
    source: S,
    target: T,
    rules: Rules,
    interrupted: Arc<AtomicBool>,
}

impl<S: Tree, T: Tree> Copier<S, T> {
    /// A client that stops when `interrupted` is set.
    pub const fn new(source: S, target: T, rules: Rules, interrupted: Arc<AtomicBool>) -> Self {
        Self {
            source,
            target,
            rules,
            interrupted,
        }
    }

    /// The tree that is copied to.
    pub(crate) const fn target(&self) -> &T {
        &self.target
    }

    fn ensure_uninterrupted(&self, path: &TreePath) -> Result<()> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => Err(Failure::interrupted(path)),
            false => Ok(()),
        }
    }

    /// Copies owner, extended attributes, mode and times. The owner comes first, because a change
    /// of the owner clears others; the mode comes late, because it may forbid further changes.
    fn copy_attributes(&self, source: &S::Node, target: &T::Node, of: &NodeMetadata) -> Result<()> {
        if self.rules.owner == Owner::Copied {
            self.target.set_owner(target, of)?;
        }
        let (wanted, present) = (self.source.xattrs(source)?, self.target.xattrs(target)?);
        for xattr in wanted.iter().filter(|xattr| !present.contains(xattr)) {
            self.target.set_xattr(target, xattr)?;
        }
        let is_wanted = |name: &[u8]| wanted.iter().any(|xattr| xattr.name == name);
        for Xattr { name, .. } in present.iter().filter(|xattr| !is_wanted(&xattr.name)) {
            self.target.remove_xattr(target, name)?;
        }
        self.target.set_attributes(target, of)
    }

    /// Fails if a source has changed since it was listed.
    fn ensure_unchanged(
        &self,
        path: &TreePath,
        source: &S::Node,
        listed: &NodeMetadata,
    ) -> Result<()> {
        match self.source.metadata_of(source)?.is_unchanged_since(listed) {
            true => Ok(()),
            false => Err(Failure::changed(path)),
        }
    }
}

impl<S: Tree, T: Tree> Perform for Copier<S, T> {
    fn perform(&self, task: &Task) -> Answer {
        let mut answer = Answer::default();
        let performed = match task {
            Task::Directory(item) => self.directory(item, &mut answer),
            Task::Nodes(items) => {
                items.iter().for_each(|item| self.node(item, &mut answer));
                Ok(())
            }
            Task::Begin(item) => self.begin(item, &mut answer),
            Task::Part(part) => self.part(part, &mut answer),
            Task::Record(item, present) => self.record(item, present),
            Task::Finish(item) => self.finish(item, &mut answer),
            Task::Names(names) => {
                names.iter().for_each(|name| self.name(name, &mut answer));
                Ok(())
            }
            Task::DirectoryAttributes(items) => {
                let set = items.iter().map(|item| self.directory_attributes(item));
                answer.failures.extend(set.filter_map(Result::err));
                Ok(())
            }
            Task::Synchronize(below) => self.target.synchronize_all(below),
        };
        answer.failures.extend(performed.err());
        answer
    }
}

/// Reports a failure of a temporary file under the name that the copy shall get.
fn named<R>(item: &Item, temporary: &TreePath, result: Result<R>) -> Result<R> {
    result.map_err(|failure| match failure.path == *temporary {
        true => Failure {
            path: item.target.clone(),
            ..failure
        },
        false => failure,
    })
}

/// The temporary path of a copy.
fn temporary_path(source: &TreePath, target: &TreePath) -> Result<TreePath> {
    let root = || Failure::of_file(target, "replacing", "it is the root");
    temporary::path(source, target).ok_or_else(root)
}
