//! The nodes that are known to be the same in the cluster and in the directory.

use crate::{NodeMetadata, TreePath};
use futago_base::Kind;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::Path,
};
use xxhash_rust::xxh3::xxh3_64;

/// A node that was the same on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Same {
    /// The fingerprint of its metadata in the cluster.
    pub cluster: u64,
    /// The fingerprint of its metadata in the directory.
    pub local: u64,
    /// The kind of node.
    pub kind: Kind,
}

/// All nodes that are known to be the same, by their path in the cluster.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Known {
    /// The lives of the servers that the nodes were copied to.
    lives: Vec<u64>,
    nodes: BTreeMap<TreePath, Same>,
}

/// A number that changes with the metadata of a node. That of a directory which a copy writes to
/// changes with every entry, so that its kind alone counts.
pub fn fingerprint(node: &NodeMetadata) -> u64 {
    let fields = (node.identity, node.kind, node.mode, node.uid, node.gid);
    let contents = (node.size, node.modified, node.changed);
    // A tuple of numbers can always be encoded.
    xxh3_64(&postcard::to_allocvec(&(fields, contents)).unwrap_or_default())
}

impl Known {
    /// Reads what an earlier process has written; nothing if there was none.
    pub fn load(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => postcard::from_bytes(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes it in one step.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let bytes = postcard::to_allocvec(self).map_err(io::Error::other)?;
        let directory = path.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::Builder::new()
            .prefix(".futago-")
            .tempfile_in(directory)?;
        file.write_all(&bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    pub const fn is_new(&self) -> bool {
        self.lives.is_empty()
    }

    pub fn set_lives(&mut self, lives: Vec<u64>) {
        self.lives = lives;
    }

    pub fn has_lives(&self, lives: &[u64]) -> bool {
        self.lives == lives
    }

    pub fn get(&self, path: &TreePath) -> Option<&Same> {
        self.nodes.get(path)
    }

    pub fn insert(&mut self, path: TreePath, same: Same) {
        self.nodes.insert(path, same);
    }

    pub fn forget(&mut self, path: &TreePath) {
        self.nodes.remove(path);
    }

    pub fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.nodes.keys()
    }
}
