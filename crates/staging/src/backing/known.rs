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
    cluster: u64,
    /// The fingerprint of its metadata in the directory.
    local: u64,
    /// Whether it had several names in the directory. The removal of one changes the time of change
    /// of the others, so that this time does not count.
    is_linked: bool,
    /// The kind of node.
    pub kind: Kind,
    /// The number of the node in the cluster.
    pub inode: u64,
    /// Whether the data of the file was in the directory alone.
    pub released: bool,
}

impl Same {
    /// A node of the cluster, and its copy in the directory.
    pub fn new(node: &NodeMetadata, local: &NodeMetadata) -> Self {
        let is_linked = local.links > 1;
        Self {
            cluster: fingerprint(node, false),
            local: fingerprint(local, is_linked),
            is_linked,
            kind: node.kind,
            inode: node.identity.inode,
            released: false,
        }
    }

    /// Whether the node of the cluster is unchanged.
    pub fn is_in_cluster(&self, node: &NodeMetadata) -> bool {
        self.cluster == fingerprint(node, false)
    }

    /// Whether the node of the directory is unchanged. Entries of a directory do not count.
    pub fn is_local(&self, present: &NodeMetadata) -> bool {
        let is_directory = present.kind == Kind::Directory;
        self.kind == present.kind
            && (is_directory || self.local == fingerprint(present, self.is_linked))
    }
}

/// All nodes that are known to be the same, by their path in the cluster.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Known {
    /// The lives of the servers that the nodes were copied to.
    lives: Vec<u64>,
    nodes: BTreeMap<TreePath, Same>,
}

/// A number that changes with the metadata of a node.
fn fingerprint(node: &NodeMetadata, is_linked: bool) -> u64 {
    let fields = (node.identity, node.kind, node.mode, node.uid, node.gid);
    let changed = (!is_linked).then_some(node.changed);
    let contents = (node.size, node.modified, changed);
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

    /// Notes that the data of a known file is in the directory alone.
    pub fn note_released(&mut self, path: &TreePath) {
        if let Some(same) = self.nodes.get_mut(path) {
            same.released = true;
        }
    }

    /// Notes that all files but these have their data.
    pub fn note_loaded(&mut self, is_released: impl Fn(u64) -> bool) {
        for same in self.nodes.values_mut() {
            same.released &= is_released(same.inode);
        }
    }

    pub fn forget(&mut self, path: &TreePath) {
        self.nodes.remove(path);
    }

    pub fn nodes(&self) -> impl Iterator<Item = (&TreePath, &Same)> {
        self.nodes.iter()
    }

    pub fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.nodes.keys()
    }
}
