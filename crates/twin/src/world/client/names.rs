//! Operations on names.

use super::data::{file_node, place_name};
use crate::world::{Directory, FileNames, OperationKind, Place};
use futago_base::{BucketStart, ClusterMap, Errno, FileId, Name, NameHash, Payload, ServerId};
use futago_client::{Client, Context, RenameFlags};
use serde::Serialize;

/// An operation on names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NameWork {
    /// What it does.
    pub kind: OperationKind,
    /// Where.
    pub place: Place,
    /// The directory of that place.
    pub directory: FileId,
    /// The number of the file or directory that it is about; where a listing begins.
    pub number: u64,
    /// The number that it gets by a rename.
    pub new_number: u64,
}

/// How many names a listing asks for.
const LISTED_NAMES: u32 = 1000;

fn directory_name(client: u32, number: u64) -> Result<Name, Errno> {
    Name::new(format!("{client}.d{number}"))
}

impl NameWork {
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
        let file_name = |number| self.file_name(core.map(), client, number, shared);
        match self.kind {
            OperationKind::Create => {
                let (name, node) = (file_name(number)?, file_node(core));
                let data = Payload::empty();
                let made = core.create(directory, &name, node, true, false, data);
                made.await.map(drop)
            }
            OperationKind::Stat => {
                let name = file_name(number)?;
                core.lookup(directory, &name).await.map(drop)
            }
            OperationKind::Lookup => {
                let path = self.path(client, &file_name(number)?, shared)?;
                core.resolve(&path, true).await.map(drop)
            }
            OperationKind::ReadDirectory => {
                let listed = core.read_directory(directory, NameHash(number), LISTED_NAMES, false);
                listed.await.map(drop)
            }
            OperationKind::Unlink => core.unlink(directory, &file_name(number)?).await,
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
                let old = file_name(number)?;
                let new = file_name(self.new_number)?;
                let flags = RenameFlags::default();
                core.rename(directory, &old, directory, &new, flags).await
            }
            // They are no operations on names.
            OperationKind::Write | OperationKind::Read => Err(Errno::EINVAL),
        }
    }
}

impl NameWork {
    /// What a client calls a file of the directory.
    fn file_name(
        &self,
        map: &ClusterMap,
        client: u32,
        number: u64,
        shared: &[Directory],
    ) -> Result<Name, Errno> {
        let named_in_turn = |directory: &&Directory| directory.names == FileNames::InTurn;
        match self.shared(shared).filter(named_in_turn) {
            Some(directory) => self.name_in_turn(map, client, number, directory),
            None => Name::new(format!("{client}.{number}")),
        }
    }

    /// The first of a file's possible names that lies at the server whose turn it is.
    fn name_in_turn(
        &self,
        map: &ClusterMap,
        client: u32,
        number: u64,
        directory: &Directory,
    ) -> Result<Name, Errno> {
        let turn = (u64::from(client) + number) % u64::from(map.server_count());
        let level = directory.buckets.ilog2() as u8;
        let mut attempt = 0_u64;
        loop {
            let name = Name::new(format!("{client}.{number}.{attempt}"))?;
            let bucket = BucketStart::covering(level, name.hash());
            if map.bucket_server(self.directory, bucket) == ServerId(turn as u16) {
                return Ok(name);
            }
            attempt += 1;
        }
    }

    /// The path of a file.
    fn path(&self, client: u32, file: &Name, shared: &[Directory]) -> Result<Vec<u8>, Errno> {
        let directory = place_name(self.place, client, shared)?;
        Ok([b"/", directory.as_bytes(), b"/", file.as_bytes()].concat())
    }

    fn shared<'a>(&self, shared: &'a [Directory]) -> Option<&'a Directory> {
        match self.place {
            Place::Own => None,
            Place::Shared(index) => shared.get(index),
        }
    }
}
