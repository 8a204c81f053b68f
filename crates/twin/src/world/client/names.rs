//! Operations on names.

use super::data::{file_node, place_path};
use crate::world::{Directory, FileNames, OperationKind, Place};
use bytes::Bytes;
use futago_base::{
    BucketStart, ClusterMap, Errno, FileId, Name, NameHash, Payload, ServerId,
    search::{Case, Comparison, Test, Tests},
};
use futago_client::{Client, Context, CreateFlags, RenameFlags, SearchOptions};
use futago_lab::workload::contents;
use futago_wire::{AttributeChange, search::Detail};
use serde::Serialize;

/// An operation on names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NameWork {
    /// The operation.
    pub kind: OperationKind,
    /// Where.
    pub place: Place,
    /// The directory of that place.
    pub directory: FileId,
    /// The number of the file or directory that it is about; where a listing begins.
    pub number: u64,
    /// The number that it gets by a rename or link, or that of the file it is exchanged with.
    pub new_number: u64,
    /// Whether the file that it is about belongs to all clients.
    pub common: bool,
    /// The data of the file that it creates or reads, in bytes.
    pub file_bytes: u32,
}

/// How many names a listing asks for.
const LISTED_NAMES: u32 = 1000;

/// The name of a client's directory.
pub fn directory_name(client: u32, number: u64) -> Result<Name, Errno> {
    Name::new(format!("{client}.d{number}"))
}

/// The owner of a file.
#[derive(Clone, Copy, Debug)]
enum Owner {
    Client(u32),
    All,
}

impl Owner {
    /// The prefix of its names.
    fn prefix(self) -> String {
        match self {
            Self::Client(client) => client.to_string(),
            Self::All => "common".to_owned(),
        }
    }

    /// The number from which the contents of its files follow.
    const fn seed(self) -> u32 {
        match self {
            Self::Client(client) => client,
            Self::All => u32::MAX,
        }
    }

    /// The number of the server that its first file goes to.
    fn first_server(self) -> u64 {
        match self {
            Self::Client(client) => u64::from(client),
            Self::All => 0,
        }
    }
}

impl NameWork {
    /// Makes a file that belongs to all clients, unless it is there.
    pub const fn make_common(
        place: Place,
        directory: FileId,
        number: u64,
        file_bytes: u32,
    ) -> Self {
        Self {
            kind: OperationKind::Create,
            place,
            directory,
            number,
            new_number: 0,
            common: true,
            file_bytes,
        }
    }

    /// Performs it for a client.
    pub async fn perform<C: Context>(
        self,
        core: &Client<C>,
        client: u32,
        shared: &[Directory],
    ) -> Result<(), Errno> {
        let Self {
            directory, number, ..
        } = self;
        let own = Owner::Client(client);
        let owner = if self.common { Owner::All } else { own };
        let file_name = |owner, number| self.file_name(core.map(), owner, number, shared);
        match self.kind {
            OperationKind::Stat => {
                let name = file_name(owner, number)?;
                core.lookup(directory, &name).await.map(drop)
            }
            OperationKind::Lookup => {
                let path = self.path(client, &file_name(owner, number)?, shared)?;
                core.resolve(&path, true).await.map(drop)
            }
            OperationKind::OpenClose => {
                let path = self.path(client, &file_name(owner, number)?, shared)?;
                let file = core.resolve(&path, true).await?.attributes.id;
                core.open(file).await?;
                core.close(file).await
            }
            OperationKind::ReadFile => {
                let name = file_name(owner, number)?;
                self.read_file(core, owner, &name).await
            }
            OperationKind::ReadDirectory => {
                let listed = core.read_directory(directory, NameHash(number), LISTED_NAMES, false);
                listed.await.map(drop)
            }
            OperationKind::Find => count_found(core, directory).await,
            _ => self.change(core, client, shared).await,
        }
    }

    /// Performs an operation that changes names or attributes.
    async fn change<C: Context>(
        self,
        core: &Client<C>,
        client: u32,
        shared: &[Directory],
    ) -> Result<(), Errno> {
        let Self {
            directory,
            number,
            new_number,
            ..
        } = self;
        let own = Owner::Client(client);
        let owner = if self.common { Owner::All } else { own };
        let file_name = |owner, number| self.file_name(core.map(), owner, number, shared);
        match self.kind {
            OperationKind::Create => {
                let name = file_name(owner, number)?;
                self.create(core, owner, &name).await
            }
            OperationKind::Unlink => core.unlink(directory, &file_name(own, number)?).await,
            OperationKind::MakeDirectory => {
                let name = directory_name(client, number)?;
                let made = core.make_directory(directory, &name, 0o755, 0, 0);
                made.await.map(drop)
            }
            OperationKind::RemoveDirectory => {
                let name = directory_name(client, number)?;
                core.remove_directory(directory, &name).await
            }
            OperationKind::Rename => {
                let names = [file_name(own, number)?, file_name(own, new_number)?];
                self.rename(core, names, false).await
            }
            OperationKind::Exchange => {
                let names = [file_name(owner, number)?, file_name(owner, new_number)?];
                self.rename(core, names, true).await
            }
            OperationKind::Link => {
                let names = [file_name(owner, number)?, file_name(own, new_number)?];
                self.link(core, names).await
            }
            OperationKind::SetAttributes => self.set_attributes(core).await,
            // No other one is in a mix.
            _ => Err(Errno::EINVAL),
        }
    }
}

/// Counts the files below a directory as the find phase of IO500 does: `-name *01* -size 3901c`.
async fn count_found<C: Context>(core: &Client<C>, directory: FileId) -> Result<(), Errno> {
    let (glob, case) = (Bytes::from_static(b"*01*"), Case::Matters);
    let (unit_bytes, units) = (1, Comparison::Equal(3901));
    let tests = [Test::Name { glob, case }, Test::Size { unit_bytes, units }];
    let options = SearchOptions {
        tests: Tests(tests.into()),
        detail: Detail::Count,
        ..SearchOptions::default()
    };
    let start = core.attributes(directory).await?.attributes;
    let mut search = core.search(b"/", &start, options);
    while let Some(batch) = search.next().await {
        if let Some(failure) = batch.failures.first() {
            return Err(failure.errno);
        }
    }
    Ok(())
}

impl NameWork {
    async fn create<C: Context>(
        self,
        core: &Client<C>,
        owner: Owner,
        name: &Name,
    ) -> Result<(), Errno> {
        let flags = CreateFlags {
            exclusive: !self.common,
            open: false,
        };
        let made = core.create(
            self.directory,
            name,
            file_node(core),
            flags,
            self.contents(owner),
        );
        made.await.map(drop)
    }

    /// Fails with `EIO` if the file does not hold what was written when it was created.
    async fn read_file<C: Context>(
        self,
        core: &Client<C>,
        owner: Owner,
        name: &Name,
    ) -> Result<(), Errno> {
        let found = core.lookup(self.directory, name).await?;
        let read = core.read(found.attributes.id, 0, self.file_bytes).await?;
        let expected = self.contents(owner);
        (read == expected).then_some(()).ok_or(Errno::EIO)
    }

    /// The data of the file that it creates or reads.
    const fn contents(self, owner: Owner) -> Payload {
        let contents = contents(owner.seed(), self.number);
        Payload::of_pattern(contents, 0, self.file_bytes as usize)
    }

    async fn rename<C: Context>(
        self,
        core: &Client<C>,
        [old, new]: [Name; 2],
        exchange: bool,
    ) -> Result<(), Errno> {
        let flags = RenameFlags {
            exchange,
            ..RenameFlags::default()
        };
        let directory = self.directory;
        core.rename(directory, &old, directory, &new, flags).await
    }

    async fn link<C: Context>(self, core: &Client<C>, [old, new]: [Name; 2]) -> Result<(), Errno> {
        let found = core.lookup(self.directory, &old).await?;
        let linked = core.link(found.attributes.id, self.directory, &new);
        linked.await.map(drop)
    }

    async fn set_attributes<C: Context>(self, core: &Client<C>) -> Result<(), Errno> {
        let change = AttributeChange {
            mode: Some(0o755),
            ..AttributeChange::default()
        };
        let set = core.set_attributes(self.directory, change);
        set.await.map(drop)
    }
}

impl NameWork {
    /// The name of a file in the directory.
    fn file_name(
        &self,
        map: &ClusterMap,
        owner: Owner,
        number: u64,
        shared: &[Directory],
    ) -> Result<Name, Errno> {
        let is_round_robin = |directory: &&Directory| directory.names == FileNames::RoundRobin;
        match self.shared(shared).filter(is_round_robin) {
            Some(directory) => self.round_robin_name(map, owner, number, directory),
            None => Name::new(format!("{}.{number}", owner.prefix())),
        }
    }

    /// The first of a file's possible names that lies at the server that is next in order.
    fn round_robin_name(
        &self,
        map: &ClusterMap,
        owner: Owner,
        number: u64,
        directory: &Directory,
    ) -> Result<Name, Errno> {
        let server = (owner.first_server() + number) % u64::from(map.server_count());
        let level = directory.buckets.ilog2() as u8;
        let prefix = owner.prefix();
        let mut attempt = 0_u64;
        loop {
            let name = Name::new(format!("{prefix}.{number}.{attempt}"))?;
            let bucket = BucketStart::covering(level, name.hash());
            if map.bucket_server(self.directory, bucket) == ServerId(server as u16) {
                return Ok(name);
            }
            attempt += 1;
        }
    }

    /// The path of a file.
    fn path(&self, client: u32, file: &Name, shared: &[Directory]) -> Result<Vec<u8>, Errno> {
        let directory = place_path(self.place, client, shared)?;
        Ok([&directory, &b"/"[..], file.as_bytes()].concat())
    }

    fn shared<'a>(&self, shared: &'a [Directory]) -> Option<&'a Directory> {
        match self.place {
            Place::Own | Place::Root => None,
            Place::Shared(index) => shared.get(index),
        }
    }
}
