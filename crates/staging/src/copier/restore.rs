//! The data of a released file.

use super::{Copier, data::Nodes};
use crate::{NodeMetadata, Result, Tree, TreePath};

impl<S: Tree, T: Tree> Copier<S, T> {
    /// Copies all data of a file to one that the target has with the same size. Nothing else of the
    /// target changes.
    pub(crate) fn restore(
        &self,
        path: &TreePath,
        metadata: &NodeMetadata,
        target: &T::Node,
    ) -> Result<()> {
        let source = self.source.open(path, metadata)?;
        let nodes = Nodes {
            path,
            source: &source,
            target,
        };
        self.copy_range(&nodes, 0..metadata.size)?;
        self.ensure_unchanged(path, &source, metadata)
    }
}
