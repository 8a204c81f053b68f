//! Gives a file another name.

use crate::{Client, Context, transaction::Plan};
use futago_base::{Errno, FileId, Kind, Name, Time, record::Entry};
use futago_wire::{Failure, FileState, Step};

impl<C: Context> Client<C> {
    /// Adds a name for the file `id`. Errors: `EEXIST`, `ENOENT`, `EPERM` for a directory, `EMLINK`.
    pub async fn link(
        &self,
        id: FileId,
        directory: FileId,
        name: &Name,
    ) -> Result<FileState, Errno> {
        let age = self.age();
        let before = self.persist(|| self.try_link(id, directory, name, age));
        let before = before.await?;
        match self.attributes(id).await {
            // It was linked, and all its names have been removed since.
            Err(Errno::ESTALE) => Ok(before),
            result => result,
        }
    }

    /// Returns the file's state before.
    async fn try_link(
        &self,
        id: FileId,
        directory: FileId,
        name: &Name,
        age: Time,
    ) -> Result<FileState, Failure> {
        let state = self.state_at_home(id).await?;
        let kind = state.attributes.kind;
        if kind == Kind::Directory {
            return Err(Errno::EPERM.into());
        }
        let Err(at) = self.find_place(directory, name).await? else {
            return Err(Errno::EEXIST.into());
        };
        let mut plan = Plan::default();
        plan.add(self.map().home(id), Step::AddLink(id));
        let put = Step::PutEntry {
            entry: Entry { id, kind },
            replaces: None,
            at: at.clone(),
        };
        plan.add(self.server_of(&at), put);
        self.execute(plan, age).await?;
        Ok(state)
    }
}
