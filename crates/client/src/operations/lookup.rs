//! Finds a name.

use crate::{
    Client, Context,
    client::{GONE, UNEXPECTED},
    transaction::Plan,
};
use alloc::boxed::Box;
use futago_base::{Errno, FileId, Name, Payload, record::Entry};
use futago_wire::{Failure, FileState, Reply, Request, Spot, step::Fact};

/// A name that exists.
#[derive(Clone, Debug)]
pub struct Found {
    /// The location of the name.
    pub at: Spot,
    /// The entry of the name.
    pub entry: Entry,
    /// The state of the file, if its home is the server of the name.
    pub state: Option<FileState>,
}

impl<C: Context> Client<C> {
    /// The state of the file `name`; the attributes of a directory are summed over all its buckets.
    /// Errors: `ENOENT`, `ENOTDIR`.
    pub async fn lookup(&self, directory: FileId, name: &Name) -> Result<FileState, Errno> {
        self.persist(|| self.try_lookup(directory, name)).await
    }

    async fn try_lookup(&self, directory: FileId, name: &Name) -> Result<FileState, Failure> {
        let found = self.find(directory, name).await?;
        match self.complete(&found).await {
            Err(GONE) => self.recheck(&found).await,
            result => result,
        }
    }

    /// Checks a name whose file was removed. The name must be removed or replaced, too. A name that
    /// still refers to the missing file is damage: `EIO`.
    async fn recheck(&self, found: &Found) -> Result<FileState, Failure> {
        match self.ask_place(found.at.directory, &found.at.name).await? {
            Ok(again) if again.entry == found.entry => Err(Errno::EIO.into()),
            _ => Err(Failure::Changed),
        }
    }

    /// Finds a name, and the state of its file if the server of the name has it.
    pub(crate) async fn find(&self, directory: FileId, name: &Name) -> Result<Found, Failure> {
        match self.find_place(directory, name).await? {
            Ok(found) => Ok(found),
            Err(_) => Err(Errno::ENOENT.into()),
        }
    }

    /// Finds a name, or the location where it would be; from the cache under a lease.
    pub(crate) async fn find_place(
        &self,
        directory: FileId,
        name: &Name,
    ) -> Result<Result<Found, Spot>, Failure> {
        let mut place = self.leased_place(directory, name);
        if place.is_none() && self.is_listing_paid(directory, name) {
            // Boxed, because it is rare and large. If it fails, the look-up tells why.
            Box::pin(self.list_around(directory, name)).await.ok();
            place = self.leased_place(directory, name);
        }
        if place.is_none() {
            place = self.relayed_place(directory, name).await;
        }
        match place {
            Some(found) => Ok(found),
            None => self.ask_place(directory, name).await,
        }
    }

    /// Like [`Client::find_place`], from the server.
    pub(crate) async fn ask_place(
        &self,
        directory: FileId,
        name: &Name,
    ) -> Result<Result<Found, Spot>, Failure> {
        let (at, answer) = self
            .ask_at(directory, name, Request::Lookup, &Payload::empty())
            .await?;
        match answer {
            Ok(Reply::Found { entry, state, .. }) => {
                let state = state.map(|state| self.seen(state));
                Ok(Ok(Found { at, entry, state }))
            }
            Err(Errno::ENOENT) => Ok(Err(at)),
            Err(errno) => Err(errno.into()),
            Ok(_) => Err(UNEXPECTED),
        }
    }

    /// Like [`Client::find_place`], for a plan that rests on the result.
    pub(crate) async fn look(
        &self,
        plan: &mut Plan,
        directory: FileId,
        name: &Name,
    ) -> Result<Result<Found, Spot>, Failure> {
        let found = self.find_place(directory, name).await?;
        self.note(plan, &found);
        Ok(found)
    }

    /// Makes a plan rest on the result of a lookup.
    pub(crate) fn note(&self, plan: &mut Plan, found: &Result<Found, Spot>) {
        let (at, entry) = match found {
            Ok(found) => (&found.at, Some(found.entry)),
            Err(at) => (at, None),
        };
        let at = at.clone();
        plan.saw(self.server_of(&at), Fact::Entry { at, entry });
    }

    /// The state of a found file at its home, from the cache under a lease. If it is not cached,
    /// the states of files are read ahead that are probably looked up next.
    async fn state_of(&self, found: &Found) -> Result<FileState, Failure> {
        let id = found.entry.id;
        let ahead = self.ahead(found);
        if ahead.is_empty() || self.known_state(id).is_some() {
            return self.state_at_home(id).await;
        }
        self.flush(id).await;
        let request = Request::GetAttributesAhead { id, ahead };
        self.first_state(self.ask(self.map().home(id), request).await?)
    }

    /// The complete state of a found file.
    pub(crate) async fn complete(&self, found: &Found) -> Result<FileState, Failure> {
        let state = match found.state {
            Some(state) => state,
            None => self.state_of(found).await?,
        };
        self.fold(state).await
    }
}
