//! Removes an empty directory.

use crate::{Client, Context, client::GONE, transaction::Plan};
use futago_base::{Errno, FileId, Kind, Name, Time, record::Entry};
use futago_wire::{Failure, FileState, Step};

impl<C: Context> Client<C> {
    /// Removes an empty directory. Errors: `ENOENT`, `ENOTDIR`, `ENOTEMPTY`.
    pub async fn remove_directory(&self, directory: FileId, name: &Name) -> Result<(), Errno> {
        let age = self.age();
        self.persist(|| self.try_remove_directory(directory, name, age))
            .await
    }

    async fn try_remove_directory(
        &self,
        directory: FileId,
        name: &Name,
        age: Time,
    ) -> Result<(), Failure> {
        let found = self.find(directory, name).await?;
        if found.entry.kind != Kind::Directory {
            return Err(Errno::ENOTDIR.into());
        }
        let mut plan = Plan::default();
        let step = Step::RemoveEntry {
            at: found.at.clone(),
            expected: found.entry,
        };
        plan.add(self.server_of(&found.at), step);
        self.plan_removal(&mut plan, found.entry, found.state)
            .await?;
        self.execute(plan, age).await
    }

    /// Adds the steps that remove a directory if it is empty.
    pub(crate) async fn plan_removal(
        &self,
        plan: &mut Plan,
        entry: Entry,
        state: Option<FileState>,
    ) -> Result<(), Failure> {
        let state = match state {
            Some(state) => state,
            None => self.existing(entry.id).await?,
        };
        let Some(home) = state.directory else {
            return Err(Errno::ENOTDIR.into());
        };
        for (bucket, header) in self.headers(entry.id, home.header).await? {
            if header.entries > 0 {
                return Err(Errno::ENOTEMPTY.into());
            }
            let step = Step::RemoveBucket {
                directory: entry.id,
                bucket,
                level: header.level,
            };
            plan.add(self.map().bucket_server(entry.id, bucket), step);
        }
        Ok(())
    }

    /// The state of a file that a name led to a moment ago: if it is gone, the name has changed.
    pub(crate) async fn existing(&self, id: FileId) -> Result<FileState, Failure> {
        match self.state_at_home(id).await {
            Err(GONE) => Err(Failure::Changed),
            result => result,
        }
    }
}
