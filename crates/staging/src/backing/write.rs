//! Writes changes back to the directory.

use super::{Backing, Pass, Unwatched, compare::Changes, known::Same};
use crate::{
    Failure, Found, Item, Links, LocalTree, NodeMetadata, Result, Stage, Task, Tree, TreePath,
};
use futago_base::Kind;

/// The most failures that a pass names.
const FAILURES_MAX: usize = 100;

impl Backing {
    /// Writes new and changed nodes, then removes names, and learns what is the same now.
    pub(super) fn write(&mut self, changes: Changes) -> Result<Pass> {
        let mut failures = Vec::new();
        let items = self.items(&changes, &mut failures);
        let is_directory = |item: &Item| item.metadata.kind == Kind::Directory;
        let (directories, nodes): (Vec<_>, Vec<_>) = items.into_iter().partition(is_directory);
        let made = directories
            .iter()
            .map(|item| LocalTree.make_directory(&item.target, 0o700));
        failures.extend(made.filter_map(Result::err));
        let clients = self.clients();
        let clients =
            clients.map_err(|error| Failure::local(&self.directory, "opening", &error))?;
        let stage = Stage::new(clients, self.setup.rules, &Unwatched);
        let summary = stage.run(nodes, None);
        failures.extend(summary.failures);
        let removed = changes.removed.iter().rev().map(|path| self.remove(path));
        failures.extend(removed.filter_map(Result::err));
        failures.extend(self.dress(&stage, &changes, directories));
        let before = changes.unflushed().files;
        let mut pass = self.conclude(changes);
        pass.files = before - pass.unflushed.files;
        pass.bytes = summary.counts.bytes;
        failures.truncate(FAILURES_MAX);
        pass.unflushed.failures = failures;
        Ok(pass)
    }

    /// Sets the attributes of directories whose entries are written, and waits until all of it
    /// survives a crash.
    fn dress(
        &self,
        stage: &Stage<'_>,
        changes: &Changes,
        mut directories: Vec<Item>,
    ) -> Vec<Failure> {
        let parents = changes.parents.iter();
        directories.extend(parents.map(|(path, node)| self.item(path, node, Found::Other)));
        let dressed = stage.perform(&Task::DirectoryAttributes(directories));
        let synchronized = stage.perform(&Task::Synchronize(self.directory.clone()));
        [dressed.failures, synchronized.failures].concat()
    }

    fn item(&self, path: &TreePath, node: &NodeMetadata, found: Found) -> Item {
        Item {
            source: path.clone(),
            target: self.local(path),
            metadata: *node,
            found,
        }
    }

    /// The nodes to copy, without those that were changed in the directory behind our back.
    fn items(&self, changes: &Changes, failures: &mut Vec<Failure>) -> Vec<Item> {
        let mut items = Vec::new();
        for (path, node) in &changes.written {
            match self.found(path, node) {
                Ok(found) => items.push(self.item(path, node, found)),
                Err(failure) => failures.push(failure),
            }
        }
        items
    }

    /// Whether the directory may get a node, and has it already.
    fn found(&self, path: &TreePath, node: &NodeMetadata) -> Result<Found> {
        let local = self.local(path);
        let Some(present) = LocalTree.metadata(&local, Links::Unfollowed)? else {
            return Ok(Found::Other);
        };
        self.ensure_loaded(path)?;
        match (node.kind, present.kind) {
            (Kind::Directory, Kind::Directory) => Ok(Found::Other),
            _ if present.is_copy_of(node) && self.may_be_copied(path, node) => {
                Ok(Found::Whole(present))
            }
            _ => {
                self.ensure_known(path, &present)?;
                if node.kind == Kind::Directory || present.kind == Kind::Directory {
                    self.make_way(path, present.kind)?;
                }
                Ok(Found::Other)
            }
        }
    }

    /// Whether a path of the directory may have a copy of a node that nothing is known of. It has
    /// not if it has one of another node.
    fn may_be_copied(&self, path: &TreePath, node: &NodeMetadata) -> bool {
        let known = self.known.get(path);
        known.is_none_or(|same| same.inode == node.identity.inode)
    }

    /// Removes a node that gets another kind, with everything below it.
    fn make_way(&self, path: &TreePath, kind: Kind) -> Result<()> {
        if kind == Kind::Directory {
            let below = [path.bytes(), b"/"].concat();
            let is_below = |path: &&TreePath| path.bytes().starts_with(&below);
            let inner: Vec<_> = self.known.paths().filter(is_below).collect();
            inner
                .into_iter()
                .rev()
                .try_for_each(|path| self.remove(path))?;
        }
        self.remove(path)
    }

    /// Removes a name from the directory, if it is what it was.
    fn remove(&self, path: &TreePath) -> Result<()> {
        let local = self.local(path);
        let Some(present) = LocalTree.metadata(&local, Links::Unfollowed)? else {
            return Ok(());
        };
        self.ensure_known(path, &present)?;
        self.ensure_loaded(path)?;
        let removed = match present.kind {
            Kind::Directory => std::fs::remove_dir(local.local()),
            _ => std::fs::remove_file(local.local()),
        };
        removed.map_err(|error| Failure::local(&local, "removing", &error))
    }

    /// Fails if another program has changed a node of the directory.
    fn ensure_known(&self, path: &TreePath, present: &NodeMetadata) -> Result<()> {
        match self
            .known
            .get(path)
            .is_some_and(|same| same.is_local(present))
        {
            true => Ok(()),
            false => Err(Failure::of_file(
                &self.local(path),
                "writing back",
                "it was changed by others in the backing directory, and is not overwritten",
            )),
        }
    }

    /// Learns what is the same now, and returns what is not. A path that cannot be read is not.
    fn conclude(&mut self, changes: Changes) -> Pass {
        let mut left = Changes::default();
        for (path, node) in changes.written {
            if !self.learn(&path, &node).unwrap_or(false) {
                left.written.push((path, node));
            }
        }
        for path in changes.removed {
            match LocalTree.metadata(&self.local(&path), Links::Unfollowed) {
                Ok(None) => self.known.forget(&path),
                _ => left.removed.push(path),
            }
        }
        Pass {
            unflushed: left.unflushed(),
            ..Pass::default()
        }
    }

    /// Notes that a node is the same on both sides, if it is. Returns whether it is.
    pub(super) fn learn(&mut self, path: &TreePath, node: &NodeMetadata) -> Result<bool> {
        let Some(present) = LocalTree.metadata(&self.local(path), Links::Unfollowed)? else {
            return Ok(false);
        };
        let owner = self.setup.rules.owner;
        let is_same = present.is_copy_of(node) && present.has_attributes_of(node, owner);
        if is_same {
            let same = Same::new(node, &present);
            self.known.insert(path.clone(), same);
        }
        Ok(is_same)
    }
}
