//! A client of a cluster as commands use it: blocking, with errors that name what they are about.

/// A path within a cluster.
pub use futago_staging::TreePath as RemotePath;

use crate::exit::{Exit, Problem};
use anyhow::{Context, anyhow};
use bytes::Bytes;
use futago_base::{
    Attributes, BucketStart, ClusterMap, Errno, FileId, Kind, Name, NameHash, Payload, ServerId,
    Space, limits, record::Header,
};
use futago_client::Context as _;
use futago_node::{
    Cluster, CooperativeChoice, Futago, Options, RecordedClient, ServerEntry,
    search::{Batches, Find},
};
use futago_wire::{
    Failure, ListedEntry, Reply, Request,
    inspection::{Inspected, Repair},
};

/// A client of a cluster.
pub struct Connection {
    futago: Futago,
    map: ClusterMap,
    /// Where each server is, for people.
    addresses: Vec<String>,
}

/// How many entries of a directory are asked for at once.
const ENTRIES: u32 = 1024;
/// How many records are asked for at once.
const RECORDS: u32 = 4096;

impl Connection {
    /// A client of `cluster`; nothing is sent yet.
    pub fn open(cluster: &Cluster) -> anyhow::Result<Self> {
        let options = Options {
            // It is gone before anybody could read from its cache.
            cooperative: CooperativeChoice::Off,
            ..Options::default()
        };
        Ok(Self {
            futago: Futago::connect(cluster, options)?,
            map: cluster.map()?,
            addresses: cluster.servers.iter().map(describe).collect(),
        })
    }

    /// The cluster's map.
    pub const fn map(&self) -> &ClusterMap {
        &self.map
    }

    /// Runs an operation; `what` says what it is about.
    pub fn run<T>(
        &self,
        what: impl FnOnce() -> String,
        operation: impl AsyncFnOnce(&RecordedClient) -> Result<T, Errno>,
    ) -> anyhow::Result<T> {
        self.futago
            .run_blocking(operation)?
            .map_err(|errno| match errno {
                Errno::EIO => Problem::error(
                    Exit::Unreachable,
                    format!(
                        "{}: a server does not answer; futago status tells which",
                        what()
                    ),
                ),
                errno => anyhow!("{}: {errno} ({})", what(), errno.name()),
            })
    }

    /// Sends one request to one server.
    fn call(&self, server: ServerId, request: Request) -> anyhow::Result<(Reply, Payload)> {
        let answer = self.futago.run_blocking(async |client| {
            let context = client.context();
            let sequence = context.next_sequence();
            context
                .call(server, sequence, request, Payload::empty())
                .await
        })?;
        answer.map_err(|failure| match failure {
            Failure::Errno(Errno::EIO) => {
                let address = self.addresses.get(usize::from(server.0));
                let address = address.map_or("", String::as_str);
                Problem::error(
                    Exit::Unreachable,
                    format!("{address}: no answer ({server})"),
                )
            }
            Failure::Errno(errno) => anyhow!("{server}: {errno} ({})", errno.name()),
            other => anyhow!("{server}: {other:?}"),
        })
    }

    /// The file that a path leads to, symbolic links followed.
    pub fn resolve(&self, path: &RemotePath) -> anyhow::Result<Attributes> {
        self.run(
            || path.to_string(),
            async |client| {
                let found = client.resolve(path.bytes(), true).await?;
                Ok(client.attributes(found.attributes.id).await?.attributes)
            },
        )
    }

    /// The attributes of what a path leads to; a symbolic link at its end is not followed.
    pub fn attributes(&self, path: &RemotePath) -> anyhow::Result<Attributes> {
        let resolve = async |client: &RecordedClient| client.resolve(path.bytes(), false).await;
        Ok(self.run(|| path.to_string(), resolve)?.attributes)
    }

    /// Begins a search.
    pub fn search(&self, find: Find) -> Batches {
        find.start(&self.futago)
    }

    /// As [`Connection::resolve`], but it must be a regular file.
    pub fn resolve_file(&self, path: &RemotePath) -> anyhow::Result<Attributes> {
        let file = self.resolve(path)?;
        match file.kind {
            Kind::File => Ok(file),
            kind => Err(anyhow!("{path} is a {kind:?} and no regular file")),
        }
    }

    /// The directory that a path leads to, if it leads to one.
    pub fn directory_at(&self, path: &RemotePath) -> anyhow::Result<Option<FileId>> {
        self.run(
            || path.to_string(),
            async |client| match client.resolve(path.bytes(), true).await {
                Ok(found) if found.attributes.kind == Kind::Directory => {
                    Ok(Some(found.attributes.id))
                }
                Ok(_) | Err(Errno::ENOENT) => Ok(None),
                Err(errno) => Err(errno),
            },
        )
    }

    /// The directory and the name that a path ends in.
    pub fn locate(&self, path: &RemotePath) -> anyhow::Result<(FileId, Name)> {
        let locate = async |client: &RecordedClient| client.locate(path.bytes()).await;
        let place = self.run(|| path.to_string(), locate)?;
        Ok((place.directory, place.name))
    }

    /// The same for a name that need not be a directory's. A slash at the end of the path demands
    /// one that exists.
    pub fn locate_other(&self, path: &RemotePath) -> anyhow::Result<(FileId, Name)> {
        let locate = async |client: &RecordedClient| {
            let place = client.locate(path.bytes()).await?;
            client.check_slash(&place).await?;
            Ok(place)
        };
        let place = self.run(|| path.to_string(), locate)?;
        Ok((place.directory, place.name))
    }

    /// The kind of a name in a directory; symbolic links are not followed.
    pub fn lookup(
        &self,
        path: &RemotePath,
        directory: FileId,
        name: &Name,
    ) -> anyhow::Result<Attributes> {
        let lookup = async |client: &RecordedClient| client.lookup(directory, name).await;
        Ok(self.run(|| path.to_string(), lookup)?.attributes)
    }

    /// The attributes of what was listed; `None` if it was removed since.
    ///
    /// # Errors
    /// If its server cannot be reached.
    pub fn listed(
        &self,
        path: &RemotePath,
        directory: FileId,
        entry: &ListedEntry,
    ) -> anyhow::Result<Option<Attributes>> {
        if let Some(attributes) = entry.attributes {
            return Ok(Some(attributes));
        }
        let lookup =
            async |client: &RecordedClient| match client.lookup(directory, &entry.name).await {
                Ok(state) => Ok(Some(state.attributes)),
                Err(Errno::ENOENT) => Ok(None),
                Err(errno) => Err(errno),
            };
        self.run(|| path.to_string(), lookup)
    }

    /// Calls `each` with every entry of a directory, attributes included where their server can be
    /// reached.
    pub fn each_entry(
        &self,
        path: &RemotePath,
        directory: FileId,
        mut each: impl FnMut(&ListedEntry) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut after = NameHash(0);
        loop {
            let list = async |client: &RecordedClient| {
                client.read_directory(directory, after, ENTRIES, true).await
            };
            let entries = self.run(|| format!("listing {path}"), list)?;
            let Some(last) = entries.last() else {
                return Ok(());
            };
            after = last.name.hash();
            entries.iter().try_for_each(&mut each)?;
        }
    }

    /// The target of a symbolic link.
    pub fn read_link(&self, path: &RemotePath, id: FileId) -> anyhow::Result<Bytes> {
        let read = async |client: &RecordedClient| client.read_link(id).await;
        self.run(|| format!("reading {path}"), read)
    }

    /// Reads a file to its end, piece by piece.
    pub fn read_all(
        &self,
        path: &RemotePath,
        file: &Attributes,
        mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let id = file.id;
        let mut offset = 0;
        loop {
            let read = async |client: &RecordedClient| {
                client.read(id, offset, limits::PAYLOAD_BYTES as u32).await
            };
            let data = self.run(|| format!("reading {path} at {offset}"), read)?;
            if data.is_empty() {
                return Ok(());
            }
            offset += data.len() as u64;
            each(&data.bytes())?;
        }
    }

    /// Removes a name that is not a directory's; `false` if it is one.
    pub fn unlink(
        &self,
        path: &RemotePath,
        directory: FileId,
        name: &Name,
    ) -> anyhow::Result<bool> {
        let unlink = async |client: &RecordedClient| match client.unlink(directory, name).await {
            Ok(()) => Ok(true),
            Err(Errno::EISDIR) => Ok(false),
            Err(errno) => Err(errno),
        };
        self.run(|| path.to_string(), unlink)
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self, directory: FileId, name: &Name) -> anyhow::Result<()> {
        self.run(
            || name.to_string(),
            async |client| client.remove_directory(directory, name).await,
        )
    }

    /// How full a server is.
    pub fn space(&self, server: ServerId) -> anyhow::Result<Space> {
        match self.call(server, Request::GetSpace)? {
            (Reply::Space(space), _) => Ok(space),
            _ => Err(strange(server)),
        }
    }

    /// The status of a server.
    pub fn status(&self, server: ServerId) -> anyhow::Result<futago_node::server::Status> {
        match self.call(server, Request::GetStatus)? {
            (Reply::Bytes(text), _) => {
                serde_json::from_slice(&text).with_context(|| format!("status of {server}"))
            }
            _ => Err(strange(server)),
        }
    }

    /// The status of all servers, asked in parallel.
    pub fn statuses(&self) -> Vec<(ServerId, anyhow::Result<futago_node::server::Status>)> {
        std::thread::scope(|scope| {
            let servers = self.map().servers();
            let asked: Vec<_> = servers
                .map(|server| (server, scope.spawn(move || self.status(server))))
                .collect();
            let failed = |_| Err(anyhow!("asking failed"));
            let answers = asked.into_iter();
            answers
                .map(|(server, answer)| (server, answer.join().unwrap_or_else(failed)))
                .collect()
        })
    }

    /// The header of a bucket.
    pub fn header(
        &self,
        path: &RemotePath,
        directory: FileId,
        bucket: BucketStart,
    ) -> anyhow::Result<Header> {
        let server = self.map.bucket_server(directory, bucket);
        let request = Request::GetHeader { directory, bucket };
        match self
            .call(server, request)
            .with_context(|| path.to_string())?
        {
            (Reply::Header(header), _) => Ok(header),
            _ => Err(strange(server)),
        }
    }

    /// All records of a server.
    pub fn inspect(&self, server: ServerId) -> anyhow::Result<Vec<Inspected>> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let request = Request::Inspect {
                after,
                records_max: RECORDS,
            };
            let (Reply::Records { records, next }, _) = self.call(server, request)? else {
                return Err(strange(server));
            };
            all.extend(records);
            if next.is_none() {
                return Ok(all);
            }
            after = next;
        }
    }

    /// Mends one piece of damage at a server.
    pub fn repair(&self, server: ServerId, repair: Repair) -> anyhow::Result<()> {
        self.call(server, Request::Repair(repair)).map(drop)
    }
}

/// Where a server is: its host, if it was started there by name, and its address.
fn describe(entry: &ServerEntry) -> String {
    match &entry.host {
        Some(host) => format!("{host}, {}", entry.address),
        None => entry.address.to_string(),
    }
}

fn strange(server: ServerId) -> anyhow::Error {
    anyhow!("{server} gave an answer that does not belong to the question")
}
