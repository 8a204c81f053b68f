//! A cluster through the library.

use super::{
    perform::{Measured, Part, Tally, Which},
    target::{FileSystem, Session, Wanted, block},
};
use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use futago_base::{Attributes, Errno, FileId, Kind, Name, Payload, search::Comparison};
use futago_client::{CreateFlags, NameLocation};
use futago_node::{Cluster, Futago, Options, RecordedClient, search::Find};
use futago_wire::{NewContent, NewNode};
use futures_util::{StreamExt, stream::FuturesUnordered};
use rustix::process::{getegid, geteuid};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A client of a cluster. It remembers the identities of the directories that it works in, as a
/// program does that works relative to an open directory; everything else is asked for.
pub struct Library {
    futago: Futago,
    /// The new nodes.
    node: NewNode,
    directories: Mutex<BTreeMap<String, FileId>>,
}

/// A caller.
#[derive(Clone, Copy)]
struct Caller<'a> {
    system: &'a Library,
    /// The client of a caller with many calls under way on its thread; none if its calls block.
    within: Option<&'a RecordedClient>,
}

/// A file that is open.
struct OpenFile {
    id: FileId,
    /// The server knows that it is open.
    registered: bool,
}

impl Library {
    /// A client of its own.
    pub fn new(
        cluster: &Cluster,
        leases: bool,
        window_bytes: Option<usize>,
    ) -> anyhow::Result<Self> {
        let mut options = Options {
            leases,
            ..Options::default()
        };
        if let Some(bytes) = window_bytes {
            options.client.transfer_bytes_max = bytes;
        }
        Ok(Self {
            futago: Futago::connect(cluster, options)?,
            node: NewNode {
                content: NewContent::InheritingFile {
                    default_chunk_bytes: cluster.chunk_bytes,
                },
                mode: 0o644,
                uid: geteuid().as_raw(),
                gid: getegid().as_raw(),
            },
            directories: Mutex::default(),
        })
    }

    /// One whose calls block.
    const fn blocking(&self) -> Caller<'_> {
        Caller {
            system: self,
            within: None,
        }
    }

    fn known_directories(&self) -> MutexGuard<'_, BTreeMap<String, FileId>> {
        let known = self.directories.lock();
        known.unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileSystem for Library {
    fn make_directory(&self, path: &str) -> anyhow::Result<()> {
        block(self.blocking().make_directory(path))
    }

    fn unlink(&self, path: &str) -> anyhow::Result<()> {
        block(self.blocking().unlink(path))
    }

    fn remove_directory(&self, path: &str) -> anyhow::Result<()> {
        block(self.blocking().remove_directory(path))
    }

    /// The library is not asked to keep anything.
    fn drop_pages(&self, _: &str) -> anyhow::Result<()> {
        Ok(())
    }

    /// One operation at a time is a blocking call, as most programs make it; many are under way
    /// together on one thread.
    fn perform(&self, part: &Part<'_>, in_flight: u32) -> Measured {
        if in_flight == 1 {
            return block(perform(self.blocking(), part, 1));
        }
        self.futago.run_blocking(async |client| {
            let caller = Caller {
                system: self,
                within: Some(client),
            };
            perform(caller, part, in_flight).await
        })?
    }
}

async fn perform(caller: Caller<'_>, part: &Part<'_>, in_flight: u32) -> Measured {
    let file = part.open(&caller).await?;
    let (lanes, tally) = (in_flight, Tally::default());
    let lane = |lane| part.lane(&caller, file.as_ref(), Which { lane, lanes }, &tally);
    // Only those that have their answer are looked at, as by the runtimes that programs use.
    let lanes: FuturesUnordered<_> = (0..in_flight).map(lane).collect();
    let results: Vec<_> = lanes.collect().await;
    let ended = part.end(&caller, file).await;
    results.into_iter().collect::<anyhow::Result<()>>()?;
    ended.map(|()| tally.into_sums())
}

impl Caller<'_> {
    async fn run<T>(
        &self,
        operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
    ) -> anyhow::Result<T> {
        Ok(match self.within {
            Some(client) => operation(client).await?,
            None => self.system.futago.run_blocking(operation)??,
        })
    }

    async fn place(&self, path: &str) -> anyhow::Result<NameLocation> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok(NameLocation {
            directory: self.directory(parent).await?,
            name: Name::new(name.as_bytes().to_vec())?,
            must_be_directory: false,
        })
    }

    async fn directory(&self, path: &str) -> anyhow::Result<FileId> {
        let known = self.system.known_directories().get(path).copied();
        if let Some(id) = known {
            return Ok(id);
        }
        let whole = format!("/{path}").into_bytes();
        let resolve = async |client: &RecordedClient| client.resolve(&whole, true).await;
        let found = self.run(resolve).await.with_context(|| path.to_owned())?;
        let id = found.attributes.id;
        let mut known = self.system.known_directories();
        known.insert(path.to_owned(), id);
        Ok(id)
    }

    async fn make_directory(&self, path: &str) -> anyhow::Result<()> {
        let place = self.place(path).await?;
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        let make = async |client: &RecordedClient| match client
            .make_directory(place.directory, &place.name, 0o755, uid, gid)
            .await
        {
            Ok(_) | Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno),
        };
        let made = self.run(make).await;
        made.with_context(|| format!("making {path}"))
    }

    async fn remove_directory(&self, path: &str) -> anyhow::Result<()> {
        let place = self.place(path).await?;
        let remove = async |client: &RecordedClient| {
            client.remove_directory(place.directory, &place.name).await
        };
        let removed = self.run(remove).await;
        removed.with_context(|| format!("removing {path}"))
    }

    async fn lookup(&self, path: &str) -> anyhow::Result<Attributes> {
        let place = self.place(path).await?;
        let lookup =
            async |client: &RecordedClient| client.lookup(place.directory, &place.name).await;
        let file = self.run(lookup).await.with_context(|| path.to_owned())?;
        ensure!(
            file.attributes.kind == Kind::File,
            "{path} is no regular file"
        );
        Ok(file.attributes)
    }
}

impl Session for Caller<'_> {
    type File = OpenFile;

    async fn create(&self, path: &str, contents: Vec<u8>) -> anyhow::Result<()> {
        let (place, node) = (self.place(path).await?, self.system.node.clone());
        let data = Payload::from(Bytes::from(contents));
        let create = async |client: &RecordedClient| {
            client
                .create(
                    place.directory,
                    &place.name,
                    node,
                    CreateFlags::EXCLUSIVE,
                    data,
                )
                .await
        };
        let created = self.run(create).await;
        created.with_context(|| format!("making {path}"))?;
        Ok(())
    }

    async fn size(&self, path: &str) -> anyhow::Result<u64> {
        Ok(self.lookup(path).await?.size)
    }

    async fn read(&self, path: &str, length: u32) -> anyhow::Result<Bytes> {
        let id = self.lookup(path).await?.id;
        let read = async |client: &RecordedClient| client.read(id, 0, length).await;
        let data = self.run(read).await;
        let data = data.with_context(|| format!("reading {path}"))?;
        Ok(data.bytes())
    }

    async fn unlink(&self, path: &str) -> anyhow::Result<()> {
        let place = self.place(path).await?;
        let unlink =
            async |client: &RecordedClient| client.unlink(place.directory, &place.name).await;
        let removed = self.run(unlink).await;
        removed.with_context(|| format!("removing {path}"))
    }

    async fn open(&self, path: &str, write: bool) -> anyhow::Result<OpenFile> {
        let (place, node) = (self.place(path).await?, self.system.node.clone());
        let open = async |client: &RecordedClient| {
            let (directory, name) = (place.directory, &place.name);
            let file = if write {
                let flags = CreateFlags {
                    exclusive: false,
                    open: true,
                };
                client
                    .create(directory, name, node, flags, Payload::empty())
                    .await?
                    .0
            } else {
                client.lookup(directory, name).await?
            };
            Ok(file.attributes.id)
        };
        let id = self.run(open).await;
        let id = id.with_context(|| format!("opening {path}"))?;
        Ok(OpenFile {
            id,
            registered: write,
        })
    }

    async fn write_at(&self, file: &OpenFile, offset: u64, data: Bytes) -> anyhow::Result<()> {
        let (id, data) = (file.id, Payload::from(data));
        let write = async |client: &RecordedClient| client.write(id, offset, data, false).await;
        self.run(write).await.map(drop)
    }

    async fn read_at(&self, file: &OpenFile, offset: u64, length: u32) -> anyhow::Result<Bytes> {
        let id = file.id;
        let read = async |client: &RecordedClient| client.read(id, offset, length).await;
        Ok(self.run(read).await?.bytes())
    }

    async fn flush(&self, file: &OpenFile) -> anyhow::Result<()> {
        let id = file.id;
        self.run(async |client: &RecordedClient| client.synchronize(id).await)
            .await
    }

    async fn close(&self, file: OpenFile) -> anyhow::Result<()> {
        if file.registered {
            let close = async |client: &RecordedClient| client.close(file.id).await;
            self.run(close).await?;
        }
        Ok(())
    }

    /// The servers search side by side, so that the first rank asks for all of it.
    async fn find(&self, root: &str, wanted: &Wanted<'_>) -> anyhow::Result<u64> {
        if wanted.rank != 0 {
            return Ok(0);
        }
        let newer_than = self.lookup(wanted.newer_than).await?.modified;
        let find = Find::below(format!("/{root}").as_bytes())
            .name(format!("*{}*", wanted.name_part).as_bytes())
            .size(1, Comparison::Equal(wanted.size_bytes))
            .modified_after(newer_than)
            .counted();
        let mut found = 0;
        for batch in find.start(&self.system.futago) {
            if let Some(failure) = batch.failures.first() {
                let path = failure.path.escape_ascii();
                bail!("searching {path}: {}", failure.errno);
            }
            found += batch.matches;
        }
        Ok(found)
    }
}
