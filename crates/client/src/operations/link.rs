//! Gives a file another name.

use crate::{Client, Context, transaction::Plan};
use futago_base::{Errno, FileId, Kind, Name, Time, record::Entry};
use futago_wire::{Failure, FileState, Step, step::Fact};

impl<C: Context> Client<C> {
    /// Adds a name for the file `id`. Errors: `EEXIST`, `ENOENT`, `EPERM` for a directory,
    /// `EMLINK`.
    pub async fn link(
        &self,
        id: FileId,
        directory: FileId,
        name: &Name,
    ) -> Result<FileState, Errno> {
        let age = self.age();
        let before = self
            .persist(|| self.try_link(id, directory, name, age))
            .await?;
        match self.attributes(id).await {
            // The file was linked, and all its names have been removed since.
            Err(Errno::ESTALE) => Ok(before),
            result => result,
        }
    }

    /// Returns the state of the file before the link.
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
        let mut plan = Plan::default();
        let home = self.map().home(id);
        match self.look(&mut plan, directory, name).await? {
            Ok(_) => {
                plan.saw(home, Fact::Linkable(id));
                plan.conclude(Err(Errno::EEXIST));
            }
            Err(at) => {
                plan.add(home, Step::AddLink(id));
                let put = Step::PutEntry {
                    entry: Entry { id, kind },
                    replaces: None,
                    at: at.clone(),
                };
                plan.add(self.server_of(&at), put);
            }
        }
        self.execute(plan, age).await?;
        Ok(state)
    }
}
