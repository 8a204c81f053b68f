//! Operations of a client with the real client core, simulated or real.

use super::data::{DataWork, find_file, make_file};
use super::names::NameWork;
use super::trace::TraceWork;
use crate::world::{Data, Directory, OperationKind, Place, Setup};
use futago_base::{Errno, FileId, Name, Payload};
use futago_client::{Client, Context};
use futago_lab::workload::IoPhase;
use serde::Serialize;

/// An operation, small enough to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Operation {
    /// Makes the client's own directory below the root.
    MakeOwn,
    /// Makes the file of the client's data in a directory.
    MakeFile(FileId, Data),
    /// Finds the file of the data that the client's phase is about.
    FindFile(Place, Data),
    /// Asks for a directory's inode, as who is about to use it does.
    Ask(FileId),
    /// Shows all servers that the client lives.
    KeepAlive,
    /// Nothing but the return of leases that servers recall while the client is idle.
    ReturnLeases,
    /// One of the workload's.
    Work(Work),
    /// A step of a recorded run.
    Trace(TraceWork),
}

/// The result of a successful operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The directory or file that it was to make or find.
    pub file: Option<FileId>,
    /// The bytes of file data that it has moved.
    pub bytes: u64,
}

impl Done {
    /// It has made or found a file.
    pub const fn found(file: FileId) -> Self {
        Self {
            file: Some(file),
            bytes: 0,
        }
    }

    /// It has moved file data.
    pub const fn moved(bytes: u64) -> Self {
        Self { file: None, bytes }
    }
}

/// An operation of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Work {
    /// On names.
    Names(NameWork),
    /// On file data.
    Data(DataWork),
}

/// The name of a client's own directory.
///
/// # Errors
///
/// None: the name is short.
pub fn own_name(client: u32) -> Result<Name, Errno> {
    Name::new(format!("client-{client}"))
}

impl Operation {
    /// Performs it for a client.
    pub async fn perform<C: Context>(
        self,
        core: &Client<C>,
        client: u32,
        setup: &Setup,
    ) -> Result<Done, Errno> {
        let shared = &setup.directories;
        match self {
            Self::MakeOwn => {
                let name = own_name(client)?;
                let made = core
                    .make_directory(FileId::ROOT, &name, 0o755, 0, 0)
                    .await?;
                Ok(Done::found(made.attributes.id))
            }
            Self::MakeFile(directory, data) => {
                let made = make_file(core, client, directory, &data);
                made.await.map(Done::found)
            }
            Self::FindFile(place, data) => {
                let found = find_file(core, client, place, &data, shared);
                found.await.map(Done::found)
            }
            Self::Ask(directory) => core.parent(directory).await.map(|_| Done::default()),
            Self::ReturnLeases => Ok(Done::default()),
            Self::KeepAlive => core.keep_alive().await.map(|()| Done::default()),
            Self::Work(work) => {
                let read = work.perform(core, client, shared, work.data()).await?;
                work.check(&read)?;
                Ok(Done {
                    file: None,
                    bytes: work.bytes(),
                })
            }
            Self::Trace(work) => {
                let phase = setup.phases.get(work.phase as usize);
                let phase = phase.ok_or(Errno::EINVAL)?;
                let data = work.data(&phase.activity, client);
                work.perform(core, client, phase, shared, data).await
            }
        }
    }

    /// The kind under which it is measured; `None` if it is not.
    pub const fn kind(self) -> Option<OperationKind> {
        match self {
            Self::Work(work) => Some(work.kind()),
            Self::Trace(work) => Some(work.kind),
            _ => None,
        }
    }
}

impl Work {
    /// The kind under which it is measured.
    pub const fn kind(&self) -> OperationKind {
        match self {
            Self::Names(work) => work.kind,
            Self::Data(work) => match work.phase {
                IoPhase::Write => OperationKind::Write,
                IoPhase::Read => OperationKind::Read,
            },
        }
    }

    /// The bytes of file data that it moves.
    pub const fn bytes(&self) -> u64 {
        match self {
            Self::Names(_) => 0,
            Self::Data(work) => work.transfer.length as u64,
        }
    }

    /// The data that it writes; nothing if it does not write.
    pub const fn data(&self) -> Payload {
        match self {
            Self::Data(work) if matches!(work.phase, IoPhase::Write) => work.data(),
            _ => Payload::empty(),
        }
    }

    /// Performs it for a client, with what [`Work::data`] said; `shared` are the directories that
    /// [`Place::Shared`] counts. Returns what it has read.
    ///
    /// # Errors
    ///
    /// Those of the operation.
    pub async fn perform<C: Context>(
        self,
        core: &Client<C>,
        client: u32,
        shared: &[Directory],
        data: Payload,
    ) -> Result<Payload, Errno> {
        match self {
            Self::Names(work) => {
                let done = work.perform(core, client, shared).await;
                done.map(|()| Payload::empty())
            }
            Self::Data(work) => work.perform(core, data).await,
        }
    }

    /// Whether it has read what had been written.
    ///
    /// # Errors
    ///
    /// `EIO` if it has not.
    pub fn check(&self, read: &Payload) -> Result<(), Errno> {
        match self {
            Self::Data(work) if work.phase == IoPhase::Read && *read != work.data() => {
                Err(Errno::EIO)
            }
            _ => Ok(()),
        }
    }
}
