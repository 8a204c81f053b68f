//! The nodes of the cluster, listed at the servers.

use super::Backing;
use crate::{ClusterTree, Failure, NodeMetadata, Result, TreePath, temporary};
use futago_node::search::Find;
use std::{collections::BTreeMap, ffi::OsString, io, os::unix::ffi::OsStringExt};

/// The nodes of a cluster by path, parents before their entries.
pub type Listing = BTreeMap<TreePath, NodeMetadata>;

impl ClusterTree {
    /// Lists everything, with the help of all servers.
    fn list_all(&self) -> Result<Listing> {
        let mut nodes = Listing::new();
        for batch in Find::below(b"/").with_attributes().start(self.futago()) {
            if let Some(failed) = batch.failures.into_iter().next() {
                let error = io::Error::from_raw_os_error(failed.errno.number());
                return Err(Failure::cluster(
                    &path(failed.path.to_vec()),
                    "listing",
                    &error,
                ));
            }
            for found in batch.files {
                if let Some(attributes) = found.attributes {
                    nodes.insert(path(found.path.to_vec()), (&*attributes).into());
                }
            }
        }
        Ok(nodes)
    }
}

fn path(bytes: Vec<u8>) -> TreePath {
    OsString::from_vec(bytes).into()
}

impl Backing {
    /// All nodes of the cluster but unfinished copies.
    pub(super) fn list(&self) -> Result<Listing> {
        let mut nodes = self.tree.list_all()?;
        nodes.retain(|path, _| !path.last_name().is_some_and(temporary::is_temporary));
        Ok(nodes)
    }
}
