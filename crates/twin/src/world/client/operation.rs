//! What a client does with the real client core, simulated or real.

use crate::world::{Directory, OperationKind, Place};
use futago_base::{Errno, FileId, Name, NameHash, Payload};
use futago_client::{Client, Context, RenameFlags};
use futago_wire::{NewContent, NewNode};
use serde::Serialize;

/// An operation, small enough to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Operation {
    /// Makes the client's own directory below the root.
    MakeOwn,
    /// Asks for a directory's inode, as who is about to use it does.
    Ask(FileId),
    /// Shows all servers that the client lives.
    KeepAlive,
    /// One of the workload's.
    Work(Work),
}

/// An operation of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Work {
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

/// What a client calls its own directory.
///
/// # Errors
///
/// None: the name is short.
pub fn own_name(client: u32) -> Result<Name, Errno> {
    Name::new(format!("client-{client}"))
}

fn file_name(client: u32, number: u64) -> Result<Name, Errno> {
    Name::new(format!("{client}.{number}"))
}

fn directory_name(client: u32, number: u64) -> Result<Name, Errno> {
    Name::new(format!("{client}.d{number}"))
}

impl Operation {
    /// Performs it for a client. Returns the directory that it made, if it was to make the client's
    /// own.
    pub async fn perform<C: Context>(
        self,
        core: &Client<C>,
        client: u32,
        shared: &[Directory],
    ) -> Result<Option<FileId>, Errno> {
        match self {
            Self::MakeOwn => {
                let name = own_name(client)?;
                let made = core
                    .make_directory(FileId::ROOT, &name, 0o755, 0, 0)
                    .await?;
                Ok(Some(made.attributes.id))
            }
            Self::Ask(directory) => core.parent(directory).await.map(|_| None),
            Self::KeepAlive => core.keep_alive().await.map(|()| None),
            Self::Work(work) => work.perform(core, client, shared).await.map(|()| None),
        }
    }

    /// What it is measured as; `None` if it is not.
    pub const fn kind(self) -> Option<OperationKind> {
        match self {
            Self::Work(work) => Some(work.kind),
            Self::MakeOwn | Self::Ask(_) | Self::KeepAlive => None,
        }
    }
}

impl Work {
    /// Performs it for a client; `shared` are the directories that [`Place::Shared`] counts.
    ///
    /// # Errors
    ///
    /// Those of the operation.
    pub async fn perform<C: Context>(
        self,
        core: &Client<C>,
        client: u32,
        shared: &[Directory],
    ) -> Result<(), Errno> {
        let Self {
            directory, number, ..
        } = self;
        match self.kind {
            OperationKind::Create => {
                let (name, node) = (file_name(client, number)?, file_node(core));
                let data = Payload::empty();
                let made = core.create(directory, &name, node, true, false, data);
                made.await.map(drop)
            }
            OperationKind::Stat => {
                let name = file_name(client, number)?;
                core.lookup(directory, &name).await.map(drop)
            }
            OperationKind::Lookup => {
                let path = self.path(client, shared);
                core.resolve(path.as_bytes(), true).await.map(drop)
            }
            OperationKind::ReadDirectory => {
                let listed = core.read_directory(directory, NameHash(number), LISTED_NAMES, false);
                listed.await.map(drop)
            }
            OperationKind::Unlink => core.unlink(directory, &file_name(client, number)?).await,
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
                let old = file_name(client, number)?;
                let new = file_name(client, self.new_number)?;
                let flags = RenameFlags::default();
                core.rename(directory, &old, directory, &new, flags).await
            }
        }
    }
}

impl Work {
    /// The path of its file.
    fn path(&self, client: u32, shared: &[Directory]) -> String {
        let number = self.number;
        match self.place {
            Place::Own => format!("/client-{client}/{client}.{number}"),
            Place::Shared(index) => {
                let name = shared.get(index).map_or("", |directory| &directory.name);
                format!("/{name}/{client}.{number}")
            }
        }
    }
}

fn file_node<C: Context>(core: &Client<C>) -> NewNode {
    let chunk_bytes = core.config().chunk_bytes;
    NewNode {
        content: NewContent::File { chunk_bytes },
        mode: 0o644,
        uid: 0,
        gid: 0,
    }
}
