//! Transfers of large files.

use super::operation::own_name;
use crate::world::{Data, Directory, Place};
use futago_base::{Errno, FileId, Name, Pattern, Payload};
use futago_client::{Client, Context, CreateFlags};
use futago_lab::workload::{IoPhase, Transfer};
use futago_wire::{NewContent, NewNode};
use serde::Serialize;

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DataWork {
    /// Whether it writes or reads.
    pub phase: IoPhase,
    /// The file.
    pub file: FileId,
    /// Where, and how much.
    pub transfer: Transfer,
    /// The content of the file.
    pub contents: Pattern,
}

impl DataWork {
    /// The data itself.
    pub const fn data(&self) -> Payload {
        let Transfer { offset, length } = self.transfer;
        Payload::of_pattern(self.contents, offset, length as usize)
    }

    /// Performs it, with the data if it writes. Returns what it reads.
    pub async fn perform<C: Context>(
        self,
        core: &Client<C>,
        data: Payload,
    ) -> Result<Payload, Errno> {
        let Transfer { offset, length } = self.transfer;
        match self.phase {
            IoPhase::Write => {
                let written = core.write(self.file, offset, data, false);
                written.await.map(|_| Payload::empty())
            }
            IoPhase::Read => core.read(self.file, offset, length).await,
        }
    }
}

/// A client's phase.
#[derive(Clone, Copy, Debug)]
pub struct ClientPhase {
    pub client: u32,
    /// The number of clients.
    pub clients: u32,
    /// The number of the phase.
    pub number: u32,
}

impl Data {
    /// A transfer of a client's data, by its index.
    pub fn transfer(&self, phase: IoPhase, client: u32, file: FileId, index: u64) -> DataWork {
        let owner = self.workload.owner(phase, client);
        let transfer = self.workload.transfer(owner, index);
        self.work(phase, file, owner, transfer)
    }

    /// A transfer of a client's phase, by its index.
    pub fn transfer_in(&self, of: ClientPhase, file: FileId, index: u64) -> DataWork {
        if !self.shuffled {
            return self.transfer(self.phase, of.client, file, index);
        }
        let number = index * u64::from(of.clients) + u64::from(of.client);
        let transfer = self.workload.shuffled(of.number.into(), number);
        self.work(self.phase, file, 0, transfer)
    }

    const fn work(&self, phase: IoPhase, file: FileId, owner: u32, transfer: Transfer) -> DataWork {
        DataWork {
            phase,
            file,
            transfer,
            contents: self.workload.contents(owner),
        }
    }
}

/// Makes the file that is to hold a client's data, unless it is there.
///
/// # Errors
///
/// Those of the operation.
pub async fn make_file<C: Context>(
    core: &Client<C>,
    client: u32,
    directory: FileId,
    data: &Data,
) -> Result<FileId, Errno> {
    let name = Name::new(data.workload.path(client))?;
    let node = file_node(core);
    let made = core.create(
        directory,
        &name,
        node,
        CreateFlags::default(),
        Payload::empty(),
    );
    made.await.map(|(state, _)| state.attributes.id)
}

/// Finds the file that a client's phase is about; `shared` are the directories that
/// [`Place::Shared`] counts. A client that shares its cache opens it, as a mount does, because only
/// then it may write chunks before the home knows of it.
///
/// # Errors
///
/// Those of the operation.
pub async fn find_file<C: Context>(
    core: &Client<C>,
    client: u32,
    place: Place,
    data: &Data,
    shared: &[Directory],
) -> Result<FileId, Errno> {
    let owner = data.workload.owner(data.phase, client);
    let directory = place_path(place, owner, shared)?;
    let file = data.workload.path(owner);
    let path = [&directory, &b"/"[..], file.as_bytes()].concat();
    let found = core.resolve(&path, true).await?.attributes.id;
    if core.context().door().is_some() {
        core.open(found).await?;
    }
    Ok(found)
}

/// The path of a place's directory, which may be one client's own; `shared` are the directories
/// that [`Place::Shared`] counts.
///
/// # Errors
///
/// `ENOENT` if there is no such directory.
pub fn place_path(place: Place, client: u32, shared: &[Directory]) -> Result<Vec<u8>, Errno> {
    let name = match place {
        Place::Root => return Ok(Vec::new()),
        Place::Own => own_name(client)?,
        Place::Shared(index) => {
            let directory = shared.get(index).ok_or(Errno::ENOENT)?;
            Name::new(directory.name.clone())?
        }
    };
    Ok([b"/", name.as_bytes()].concat())
}

/// A regular file as clients of workloads make it.
pub fn file_node<C: Context>(core: &Client<C>) -> NewNode {
    let default_chunk_bytes = core.config().chunk_bytes;
    NewNode {
        content: NewContent::InheritingFile {
            default_chunk_bytes,
        },
        mode: 0o644,
        uid: 0,
        gid: 0,
    }
}
