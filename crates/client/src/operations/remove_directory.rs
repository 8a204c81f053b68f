//! Removes an empty directory.

use crate::{Client, Context, client::GONE, transaction::Plan};
use futago_base::{Errno, FileId, Kind, Name, Time, record::Entry};
use futago_wire::{Failure, FileState, Step, step::Fact};

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
        let mut plan = Plan::default();
        let found = self.look(&mut plan, directory, name).await?;
        let found = found.map_err(|_| Errno::ENOENT)?;
        if found.entry.kind != Kind::Directory {
            return Err(Errno::ENOTDIR.into());
        }
        let step = Step::RemoveEntry {
            at: found.at.clone(),
            expected: found.entry,
        };
        plan.add(self.server_of(&found.at), step);
        self.plan_removal(&mut plan, found.entry, found.state)
            .await?;
        self.execute(plan, age).await
    }

    /// Adds the steps that remove a directory, or concludes that it is not empty.
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
            let (directory, level) = (entry.id, header.level);
            let server = self.map().bucket_server(directory, bucket);
            if header.entries > 0 {
                let fact = Fact::NotEmpty {
                    directory,
                    bucket,
                    level,
                };
                plan.saw(server, fact);
                plan.conclude(Err(Errno::ENOTEMPTY));
                return Ok(());
            }
            let step = Step::RemoveBucket {
                directory,
                bucket,
                level,
            };
            plan.add(server, step);
        }
        Ok(())
    }

    /// The state of a file that was just found by name. If it does not exist, the name has changed.
    pub(crate) async fn existing(&self, id: FileId) -> Result<FileState, Failure> {
        match self.state_at_home(id).await {
            Err(GONE) => Err(Failure::Changed),
            result => result,
        }
    }
}
