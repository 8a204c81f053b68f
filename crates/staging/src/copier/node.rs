//! Nodes that one client copies as a whole.

use super::{Contents, Copier, Present, data::Nodes, named, temporary_path};
use crate::{Answer, Done, Failure, Found, Item, Links, NodeMetadata, Result, Tree, TreePath};
use futago_base::Kind;

impl<S: Tree, T: Tree> Copier<S, T> {
    /// Copies a node, unless the target has it.
    pub(super) fn node(&self, item: &Item, answer: &mut Answer) {
        let copied = match item.found {
            Found::Other => self.copy_node(item, answer),
            Found::Whole(present) => self.complete_node(item, &present, answer),
        };
        match copied {
            Ok(done) => answer.done.push(done),
            Err(failure) => answer.failures.push(failure),
        }
    }

    /// Copies a node under a temporary name, then renames it.
    fn copy_node(&self, item: &Item, answer: &mut Answer) -> Result<Done> {
        self.ensure_uninterrupted(&item.source)?;
        let temporary = temporary_path(&item.source, &item.target)?;
        named(item, &temporary, self.target.remove(&temporary))?;
        let filled = self.fill(item, &temporary).inspect_err(|_| {
            // The failure to report is the first one.
            let _ = self.target.remove(&temporary);
        });
        answer.bytes += named(item, &temporary, filled)?;
        self.give_name(&temporary, &item.target)?;
        Ok(Done::Copied(item.metadata.kind))
    }

    /// Makes a whole copy under a temporary name. Returns the number of written bytes.
    fn fill(&self, item: &Item, temporary: &TreePath) -> Result<u64> {
        let source = self.source.open(&item.source, &item.metadata)?;
        let mut bytes = 0;
        let target = match item.metadata.kind {
            Kind::File if self.rules.contents == Contents::Released => {
                self.target.create_released(temporary, item.metadata.size)?
            }
            Kind::File => {
                let target = self.target.create_file(temporary)?;
                bytes = self.fill_file(item, &source, &target)?;
                target
            }
            Kind::Symlink => {
                let leads_to = self.source.read_link(&source)?;
                self.target.create_symlink(temporary, &leads_to)?
            }
            _ => self
                .target
                .create_special(temporary, &item.metadata)
                .map_err(|failure| Failure {
                    path: item.source.clone(),
                    ..failure
                })?,
        };
        self.copy_attributes(&source, &target, &item.metadata)?;
        self.ensure_unchanged(&item.source, &source, &item.metadata)?;
        Ok(bytes)
    }

    fn fill_file(&self, item: &Item, source: &S::Node, target: &T::Node) -> Result<u64> {
        let nodes = Nodes {
            path: &item.source,
            source,
            target,
        };
        let size = item.metadata.size;
        let bytes = self.copy_range(&nodes, 0..size)?;
        if size > 0 {
            self.target.set_size(target, size)?;
        }
        Ok(bytes)
    }

    /// Renames a whole copy.
    pub(super) fn give_name(&self, temporary: &TreePath, target: &TreePath) -> Result<()> {
        let is_directory = |found: NodeMetadata| found.kind == Kind::Directory;
        self.target.rename(temporary, target).map_err(|failure| {
            let found = self
                .target
                .metadata(target, Links::Unfollowed)
                .ok()
                .flatten();
            let _ = self.target.remove(temporary);
            match found.is_some_and(is_directory) {
                true => Failure::of_file(target, "replacing", "it is a directory"),
                false => failure,
            }
        })
    }

    /// Compares a node that the target has, and mends its attributes.
    fn complete_node(
        &self,
        item: &Item,
        present: &NodeMetadata,
        answer: &mut Answer,
    ) -> Result<Done> {
        self.ensure_uninterrupted(&item.source)?;
        let source = self.source.open(&item.source, &item.metadata)?;
        let target = self.target.open(&item.target, present)?;
        if !self.is_same_content(item, &source, &target)? {
            return self.copy_node(item, answer);
        }
        if !present.has_attributes_of(&item.metadata, self.rules.owner)
            || self.source.xattrs(&source)? != self.target.xattrs(&target)?
        {
            self.copy_attributes(&source, &target, &item.metadata)?;
        }
        Ok(Done::Present)
    }

    fn is_same_content(&self, item: &Item, source: &S::Node, target: &T::Node) -> Result<bool> {
        match item.metadata.kind {
            Kind::Symlink => Ok(self.source.read_link(source)? == self.target.read_link(target)?),
            Kind::File if self.rules.present == Present::SameData => {
                let path = &item.source;
                let nodes = Nodes {
                    path,
                    source,
                    target,
                };
                self.is_same_data(&nodes, item.metadata.size)
            }
            _ => Ok(true),
        }
    }
}
