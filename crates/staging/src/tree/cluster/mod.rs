//! Clusters.

mod operations;
mod released;

use super::{TreeEntry, TreeListing};
use crate::{Failure, Result, TreePath};
use futago_base::{Attributes, Errno, FileId, Kind, Name, NameHash, Payload};
use futago_client::CreateFlags;
use futago_node::{Cluster, CooperativeChoice, Futago, Options, RecordedClient};
use futago_wire::{AttributeChange, ListedEntry, NewContent, NewNode};
use rustix::process::{getegid, geteuid};
use std::{
    collections::HashMap,
    io,
    sync::{Mutex, PoisonError},
};

/// A client of a cluster. It remembers the directories that it has met.
pub struct ClusterTree {
    futago: Futago,
    chunk_bytes: u32,
    directories: Mutex<HashMap<TreePath, FileId>>,
}

/// A node of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterNode {
    path: TreePath,
    id: FileId,
}

/// How many entries of a directory one request asks for.
const ENTRIES: u32 = 1024;

/// A name in a directory that is known.
struct Place {
    directory: FileId,
    name: Name,
}

impl ClusterTree {
    /// A client of a cluster. Nothing is sent before the first operation.
    ///
    /// # Errors
    /// As [`Futago::connect`].
    pub fn connect(cluster: &Cluster) -> io::Result<Self> {
        let options = Options {
            // It reads nothing twice.
            cooperative: CooperativeChoice::Off,
            ..Options::default()
        };
        let futago = Futago::connect(cluster, options)?;
        Ok(Self::new(futago, cluster.chunk_bytes))
    }

    /// The tree of a client, whose new files have chunks of this size.
    pub fn new(futago: Futago, chunk_bytes: u32) -> Self {
        Self {
            futago,
            chunk_bytes,
            directories: Mutex::default(),
        }
    }

    /// The client.
    pub(crate) const fn futago(&self) -> &Futago {
        &self.futago
    }

    /// Runs an operation. An error names the path.
    fn run<T>(
        &self,
        path: &TreePath,
        action: &str,
        operation: impl AsyncFnOnce(&RecordedClient) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        let done = self.futago.run_blocking(operation);
        let done = done.map_err(io::Error::from);
        let done = done
            .and_then(|done| done.map_err(|errno| io::Error::from_raw_os_error(errno.number())));
        done.map_err(|error| Failure::cluster(path, action, &error))
    }

    /// As [`ClusterTree::run`], of a node.
    fn run_on<T>(
        &self,
        node: &ClusterNode,
        action: &str,
        operation: impl AsyncFnOnce(&RecordedClient) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        self.run(&node.path, action, operation)
    }

    /// The directory at a path; symbolic links are followed.
    fn directory(&self, path: &TreePath) -> Result<FileId> {
        let known = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = known.get(path) {
            return Ok(id);
        }
        drop(known);
        let resolve = async |client: &RecordedClient| client.resolve(path.bytes(), true).await;
        let found = self.run(path, "finding", resolve)?.attributes;
        if found.kind != Kind::Directory {
            return Err(Failure::of_file(path, "opening", "it is no directory"));
        }
        let mut known = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.insert(path.clone(), found.id);
        Ok(found.id)
    }

    fn place(&self, path: &TreePath) -> Result<Place> {
        let refused = |cause: &str| Failure::of_file(path, "finding", cause);
        let (parent, name) = path
            .parent()
            .zip(path.last_name())
            .ok_or_else(|| refused("it is the root"))?;
        let name = Name::new(name.to_vec()).map_err(|errno| refused(&errno.to_string()))?;
        Ok(Place {
            directory: self.directory(&parent)?,
            name,
        })
    }

    fn create(&self, path: &TreePath, content: NewContent, mode: u16) -> Result<ClusterNode> {
        let Place { directory, name } = self.place(path)?;
        let node = NewNode {
            content,
            mode,
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
        };
        let create = async |client: &RecordedClient| {
            let (flags, data) = (CreateFlags::EXCLUSIVE, Payload::empty());
            client.create(directory, &name, node, flags, data).await
        };
        let (state, _) = self.run(path, "creating", create)?;
        Ok(ClusterNode {
            path: path.clone(),
            id: state.attributes.id,
        })
    }

    fn entry(
        &self,
        directory: &TreePath,
        id: FileId,
        listed: ListedEntry,
    ) -> Result<Option<TreeEntry>> {
        let name = listed.name.as_bytes().to_vec();
        let attributes = match listed.attributes {
            Some(attributes) => Some(attributes),
            None => self.look_up(&directory.join(&name), id, &listed.name)?,
        };
        Ok(attributes.map(|attributes| TreeEntry {
            name,
            metadata: (&attributes).into(),
        }))
    }

    /// Adds all entries of a directory to a listing.
    fn list_into(&self, directory: &TreePath, listing: &mut TreeListing) -> Result<()> {
        let id = self.directory(directory)?;
        let mut after = NameHash(0);
        loop {
            let list = async |client: &RecordedClient| {
                client.read_directory(id, after, ENTRIES, true).await
            };
            let listed = self.run(directory, "listing", list)?;
            let Some(last) = listed.last() else {
                return Ok(());
            };
            after = last.name.hash();
            for entry in listed {
                match self.entry(directory, id, entry) {
                    Ok(entry) => listing.entries.extend(entry),
                    Err(failure) => listing.failures.push(failure),
                }
            }
        }
    }

    fn look_up(
        &self,
        path: &TreePath,
        directory: FileId,
        name: &Name,
    ) -> Result<Option<Attributes>> {
        let lookup = async |client: &RecordedClient| {
            if_exists(
                client
                    .lookup(directory, name)
                    .await
                    .map(|found| found.attributes),
            )
        };
        self.run(path, "reading", lookup)
    }

    fn change(&self, node: &ClusterNode, change: AttributeChange) -> Result<()> {
        let set = async |client: &RecordedClient| client.set_attributes(node.id, change).await;
        self.run_on(node, "setting attributes of", set).map(drop)
    }
}

/// `None` for what does not exist.
fn if_exists<T>(found: std::result::Result<T, Errno>) -> std::result::Result<Option<T>, Errno> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Errno::ENOENT | Errno::ENODATA | Errno::ENXIO) => Ok(None),
        Err(errno) => Err(errno),
    }
}
