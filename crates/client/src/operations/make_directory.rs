//! Makes a directory.

use crate::{
    Client, Context,
    client::{GONE, UNEXPECTED},
};
use alloc::vec;
use futago_base::{Attributes, Errno, FileId, Kind, Name, Payload, Time, Timestamp, record::Entry};
use futago_wire::{Failure, FileState, NewDirectory, Reply, Request, Spot, Step, step::Inherited};

impl<C: Context> Client<C> {
    /// Makes an empty directory. Errors: `EEXIST`, `ENOENT`, `ENOSPC`.
    pub async fn make_directory(
        &self,
        directory: FileId,
        name: &Name,
        mode: u16,
        uid: u32,
        gid: u32,
    ) -> Result<FileState, Errno> {
        let age = self.age();
        let request = |at| Request::MakeDirectory { at, mode, uid, gid };
        self.persist(|| self.try_make_directory(directory, name, request, age))
            .await
    }

    async fn try_make_directory(
        &self,
        directory: FileId,
        name: &Name,
        request: impl Fn(Spot) -> Request,
        age: Time,
    ) -> Result<FileState, Failure> {
        let (at, reply) = self
            .ask_at(directory, name, request, &Payload::empty())
            .await?;
        match reply? {
            Reply::Found {
                state: Some(state), ..
            } => Ok(self.seen(state)),
            Reply::Elsewhere { new, inherited } => {
                let id = self.make_elsewhere(at, new, inherited, age).await?;
                match self.try_attributes(id).await {
                    // The directory was made, and another client has removed it since.
                    Err(GONE) => Ok(self.just_made(id, &new)),
                    result => result,
                }
            }
            _ => Err(UNEXPECTED),
        }
    }

    /// The state of a new directory.
    fn just_made(&self, id: FileId, new: &NewDirectory) -> FileState {
        let now = Timestamp::from(self.context().stamp());
        FileState {
            attributes: Attributes {
                id,
                kind: Kind::Directory,
                mode: new.mode,
                uid: new.uid,
                gid: new.gid,
                links: 2,
                size: 0,
                device: 0,
                accessed: now,
                modified: now,
                changed: now,
                born: now,
                chunk_bytes: 0,
                allocated_bytes: Some(0),
            },
            directory: None,
            leased: false,
            data_leased: false,
            exclusive: false,
        }
    }

    /// Makes a directory on one server and its entry on another.
    async fn make_elsewhere(
        &self,
        at: Spot,
        new: NewDirectory,
        inherited: Inherited,
        age: Time,
    ) -> Result<FileId, Failure> {
        let (home, parent) = (self.map().owner(new.home), self.server_of(&at));
        let transaction = self.begin(age, home, vec![home, parent]);
        let step = Step::CreateDirectory(new);
        let Some(id) = transaction.prepare(home, vec![step]).await? else {
            return transaction.conclude(Err(UNEXPECTED)).await;
        };
        let entry = Entry {
            id,
            kind: Kind::Directory,
        };
        let inherit = Step::Inherit {
            directory: at.directory,
            bucket: at.bucket,
            inherited,
        };
        let put = Step::PutEntry {
            at,
            entry,
            replaces: None,
        };
        let prepared = transaction.prepare(parent, vec![inherit, put]).await;
        transaction.conclude(prepared.map(|_| id)).await
    }
}
