//! Changes attributes.

use crate::{Client, Context, client::UNEXPECTED, transaction::Plan};
use futago_base::{Errno, FileId, Time};
use futago_wire::{AttributeChange, Failure, FileState, Reply, Request, Step};

impl<C: Context> Client<C> {
    /// Changes attributes and returns the state after it. Errors: `ESTALE` if the file does not
    /// exist, `EISDIR`, `EFBIG`.
    pub async fn set_attributes(
        &self,
        id: FileId,
        change: AttributeChange,
    ) -> Result<FileState, Errno> {
        let age = self.age();
        self.flush(id).await;
        let changed = self.persist(|| self.try_set_attributes(id, change, age));
        let state = changed.await?;
        Ok(self.fold_after_change(state).await)
    }

    async fn try_set_attributes(
        &self,
        id: FileId,
        change: AttributeChange,
        age: Time,
    ) -> Result<FileState, Failure> {
        let request = Request::SetAttributes { id, change };
        match self.ask(self.map().home(id), request).await {
            Ok(Reply::File(state)) => Ok(self.seen(state)),
            Ok(_) => Err(UNEXPECTED),
            // The headers of a directory of several buckets hold copies of these attributes.
            Err(Failure::Changed) => self.set_wide(id, change, age).await,
            Err(failure) => Err(failure),
        }
    }

    async fn set_wide(
        &self,
        directory: FileId,
        change: AttributeChange,
        age: Time,
    ) -> Result<FileState, Failure> {
        let state = self.state_at_home(directory).await?;
        let Some(home) = state.directory else {
            return Err(Failure::Changed);
        };
        let mut plan = Plan::default();
        let set = Step::SetAttributes { directory, change };
        plan.add(self.map().home(directory), set);
        for (bucket, header) in self.headers(directory, home.header).await? {
            let step = Step::SetHeader {
                directory,
                bucket,
                level: header.level,
                mode: change.mode,
                gid: change.gid,
                chunk_bytes: change.chunk_bytes,
            };
            plan.add(self.map().bucket_server(directory, bucket), step);
        }
        self.execute(plan, age).await?;
        let state = self.persist(|| self.state_at_home(directory)).await;
        state.map_err(Failure::Errno)
    }
}
