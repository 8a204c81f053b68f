//! A cluster through the library.

use super::target::{File, FileSystem};
use anyhow::{Context, ensure};
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Kind, Name, Payload};
use futago_client::Place;
use futago_node::{Client, Cluster, Futago, Options};
use futago_wire::{NewContent, NewNode};
use rustix::process::{getegid, geteuid};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A client of a cluster. It remembers the identities of the directories that it works in, as a
/// program does that works relative to an open directory; everything else is asked for.
pub struct Library {
    futago: Futago,
    chunk_bytes: u32,
    directories: Mutex<BTreeMap<String, FileId>>,
}

struct OpenFile {
    futago: Futago,
    id: FileId,
    /// The server knows that it is open.
    registered: bool,
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if self.registered {
            let id = self.id;
            // The end of the session closes it otherwise.
            let _ = run(&self.futago, async |client| client.close(id).await);
        }
    }
}

fn run<T>(
    futago: &Futago,
    operation: impl AsyncFnOnce(&Client) -> Result<T, Errno>,
) -> anyhow::Result<T> {
    Ok(futago.run_blocking(operation)??)
}

impl Library {
    /// A client of its own.
    pub fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self {
            futago: Futago::connect(cluster, Options::default())?,
            chunk_bytes: cluster.chunk_bytes,
            directories: Mutex::default(),
        })
    }

    fn place(&self, path: &str) -> anyhow::Result<Place> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok(Place {
            directory: self.directory(parent)?,
            name: Name::new(name.as_bytes().to_vec())?,
            must_be_directory: false,
        })
    }

    fn directory(&self, path: &str) -> anyhow::Result<FileId> {
        let known = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .copied();
        if let Some(id) = known {
            return Ok(id);
        }
        let whole = format!("/{path}").into_bytes();
        let resolve = async |client: &Client| client.resolve(&whole, true).await;
        let found = run(&self.futago, resolve).with_context(|| path.to_owned())?;
        let id = found.attributes.id;
        let mut directories = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        directories.insert(path.to_owned(), id);
        Ok(id)
    }

    fn node(&self) -> NewNode {
        NewNode {
            content: NewContent::File {
                chunk_bytes: self.chunk_bytes,
            },
            mode: 0o644,
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
        }
    }

    fn lookup(&self, path: &str) -> anyhow::Result<Attributes> {
        let place = self.place(path)?;
        let lookup = async |client: &Client| client.lookup(place.directory, &place.name).await;
        let file = run(&self.futago, lookup).with_context(|| path.to_owned())?;
        ensure!(
            file.attributes.kind == Kind::File,
            "{path} is no regular file"
        );
        Ok(file.attributes)
    }
}

impl FileSystem for Library {
    fn make_directory(&self, path: &str) -> anyhow::Result<()> {
        let place = self.place(path)?;
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        let make = async |client: &Client| match client
            .make_directory(place.directory, &place.name, 0o755, uid, gid)
            .await
        {
            Ok(_) | Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno),
        };
        run(&self.futago, make).with_context(|| format!("making {path}"))
    }

    fn create(&self, path: &str, contents: Vec<u8>) -> anyhow::Result<()> {
        let (place, node) = (self.place(path)?, self.node());
        let data = Payload::from(Bytes::from(contents));
        let create = async |client: &Client| {
            client
                .create(place.directory, &place.name, node, true, false, data)
                .await
        };
        run(&self.futago, create).with_context(|| format!("making {path}"))?;
        Ok(())
    }

    fn size(&self, path: &str) -> anyhow::Result<u64> {
        Ok(self.lookup(path)?.size)
    }

    fn read(&self, path: &str, length: u32) -> anyhow::Result<Vec<u8>> {
        let id = self.lookup(path)?.id;
        let read = async |client: &Client| client.read(id, 0, length).await;
        let data = run(&self.futago, read).with_context(|| format!("reading {path}"))?;
        Ok(data.bytes().to_vec())
    }

    fn unlink(&self, path: &str) -> anyhow::Result<()> {
        let place = self.place(path)?;
        let unlink = async |client: &Client| client.unlink(place.directory, &place.name).await;
        run(&self.futago, unlink).with_context(|| format!("removing {path}"))
    }

    fn remove_directory(&self, path: &str) -> anyhow::Result<()> {
        let place = self.place(path)?;
        let remove =
            async |client: &Client| client.remove_directory(place.directory, &place.name).await;
        run(&self.futago, remove).with_context(|| format!("removing {path}"))
    }

    fn open(&self, path: &str, write: bool) -> anyhow::Result<Arc<dyn File>> {
        let (place, node) = (self.place(path)?, self.node());
        let open = async |client: &Client| {
            let (directory, name) = (place.directory, &place.name);
            let file = if write {
                client
                    .create(directory, name, node, false, true, Payload::empty())
                    .await?
                    .0
            } else {
                client.lookup(directory, name).await?
            };
            Ok(file.attributes.id)
        };
        let id = run(&self.futago, open).with_context(|| format!("opening {path}"))?;
        Ok(Arc::new(OpenFile {
            futago: self.futago.clone(),
            id,
            registered: write,
        }))
    }
}

impl File for OpenFile {
    fn write_at(&self, offset: u64, data: Vec<u8>) -> anyhow::Result<()> {
        let (id, data) = (self.id, Payload::from(Bytes::from(data)));
        let write = async |client: &Client| client.write(id, offset, data, false).await;
        run(&self.futago, write).map(drop)
    }

    fn read_at(&self, offset: u64, length: u32) -> anyhow::Result<Vec<u8>> {
        let id = self.id;
        let read = async |client: &Client| client.read(id, offset, length).await;
        Ok(run(&self.futago, read)?.bytes().to_vec())
    }

    /// What a write has returned from is at the servers.
    fn flush(&self) -> anyhow::Result<()> {
        Ok(())
    }
}
