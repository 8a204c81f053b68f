//! Leases: what is known under them, and how they are given back.

use super::lookup::Found;
use crate::{Client, Context, join_all, leases::Leases};
use alloc::{collections::BTreeMap, vec::Vec};
use futago_base::{
    Attributes, BucketStart, Duration, Errno, FileId, Name, ServerId, record::Entry,
};
use futago_wire::{FileState, Lease, LeaseRecall, Request, Spot};

/// How many nodes are forgotten side by side: a kernel may take a while for each.
const FORGOTTEN_AT_ONCE: usize = 64;
/// The set-user-id and set-group-id bits.
const SET_ID: u16 = 0o6000;
/// How many leases one message gives back.
const GIVEN_BACK_MAX: usize = 1024;

impl<C: Context> Client<C> {
    /// A node's state, if it is known under a lease.
    pub(crate) fn leased_state(&self, id: FileId) -> Option<FileState> {
        let memory = self.memory.borrow();
        let leases = memory.leases.as_deref()?;
        let is_sent = memory.unsent.file(id).is_none();
        let state = leases.state(id, self.map().home(id), self.context().now());
        state.filter(|_| is_sent)
    }

    /// Whether a file may have set-user-id or set-group-id bits: unless a lease tells that it has
    /// none.
    pub fn may_be_set_id(&self, id: FileId) -> bool {
        let memory = self.memory.borrow();
        let leased = |leases: &Leases| leases.state(id, self.map().home(id), self.context().now());
        let state = memory.leases.as_deref().and_then(leased);
        state.is_none_or(|state| state.attributes.mode & SET_ID != 0)
    }

    /// What a name leads to, if that is known under a lease on its directory.
    fn leased_name(&self, directory: FileId, name: &Name) -> Option<Option<Entry>> {
        let memory = self.memory.borrow();
        let leases = memory.leases.as_deref()?;
        let home = self.map().home(directory);
        leases.name(directory, name, home, self.context().now())
    }

    /// The entry of a name that is known to exist.
    pub(crate) fn leased_entry(&self, directory: FileId, name: &Name) -> Option<Entry> {
        self.leased_name(directory, name).flatten()
    }

    /// As [`Client::find_place`], if it is known. Directories under a lease have one bucket.
    pub(crate) fn leased_place(
        &self,
        directory: FileId,
        name: &Name,
    ) -> Option<Result<Found, Spot>> {
        let entry = self.leased_name(directory, name)?;
        let at = Spot {
            directory,
            bucket: BucketStart(0),
            name: name.clone(),
        };
        Some(match entry {
            Some(entry) => Ok(Found {
                at,
                entry,
                state: self.leased_state(entry.id),
            }),
            None => Err(at),
        })
    }

    /// For how long others need not ask whether a node still has these attributes: until then, or until
    /// [`Context::forget`] tells of the node, its home changes nothing of them.
    pub fn attributes_trust(&self, attributes: &Attributes) -> Duration {
        if self.has_unsent(attributes.id) {
            return Duration(0);
        }
        let home = self.map().home(attributes.id);
        let now = self.context().now();
        self.with_leases(|leases| leases.attributes_trust(attributes, home, now))
            .unwrap_or_default()
    }

    /// For how long others need not ask for a file's data again that they have: until then, or until
    /// [`Context::forget`] tells of the file, nobody but this client changes it.
    pub fn data_trust(&self, id: FileId) -> Duration {
        if self.has_unsent(id) {
            return Duration(0);
        }
        let (home, now) = (self.map().home(id), self.context().now());
        let trust = |leases: &mut Leases| {
            let is_covered = leases.data_stamps(id, home, now).is_some();
            is_covered.then(|| leases.trust(home, now))
        };
        self.with_leases(trust).flatten().unwrap_or_default()
    }

    /// The time for which a lease on a node has been held without a gap, as a number that no other such time has; `None` if there is none to
    /// rely on. In one such time, or until [`Context::forget`] tells of the node, nobody but this client changes its attributes, nor the
    /// names of a directory of which all names are known.
    pub fn lease_period(&self, id: FileId) -> Option<u64> {
        let (home, now) = (self.map().home(id), self.context().now());
        self.with_leases(|leases| leases.period(id, home, now))
            .flatten()
    }

    /// Whether all names of a directory are known under a lease.
    pub fn knows_names(&self, directory: FileId) -> bool {
        let (home, now) = (self.map().home(directory), self.context().now());
        self.with_leases(|leases| leases.is_listed(directory, home, now))
            .unwrap_or_default()
    }

    /// Asks for a lease that covers a file's data. It may not be had now: [`Client::data_trust`] tells.
    /// Errors: `ESTALE` if the file is gone.
    pub async fn lease_data(&self, id: FileId) -> Result<(), Errno> {
        if self.config().lease_trust.is_none() || self.data_trust(id) > Duration(0) {
            return Ok(());
        }
        self.tell_home(id, Request::AnnounceChanges(id)).await?;
        self.persist(|| self.ask_state(id)).await?;
        Ok(())
    }

    /// For how long others need not ask whether a name still leads to a file, or to none, as [`Client::attributes_trust`].
    pub fn name_trust(&self, directory: FileId, name: &Name, id: Option<FileId>) -> Duration {
        match self.leased_name(directory, name) {
            Some(entry) if entry.map(|entry| entry.id) == id => {
                let (home, now) = (self.map().home(directory), self.context().now());
                self.with_leases(|leases| leases.trust(home, now))
                    .unwrap_or_default()
            }
            _ => Duration::default(),
        }
    }

    /// Relies no more on leases that the client's own request is about to end.
    pub(crate) async fn end_leases(&self, nodes: &[FileId]) {
        for &node in nodes {
            self.with_leases(|leases| leases.end(node));
        }
        for &node in nodes {
            self.send_unsent(node).await;
        }
    }

    /// A server calls a lease back: it is given back once nobody relies on it any more.
    pub async fn recalled(&self, recall: LeaseRecall) {
        let is_ended = self.with_leases(|leases| leases.recalled(recall));
        if is_ended.unwrap_or(true) {
            self.give_back(Vec::from([recall.lease])).await;
        }
    }

    /// Gives the leases back for which there was no room.
    pub(crate) async fn give_back_dropped(&self) {
        if let Some(dropped) = self.with_leases(|leases| leases.take_dropped()) {
            self.give_back(dropped).await;
        }
    }

    /// A server that does not hear of it asks again, or waits until the client's lease is over. It does not hear of it
    /// if it could not be told what is open, or if another session has begun, whose leases have other numbers.
    pub(crate) async fn give_back(&self, leases: Vec<Lease>) {
        let session = self.context().session();
        let mut by_home: BTreeMap<ServerId, Vec<Lease>> = BTreeMap::new();
        for part in leases.chunks(FORGOTTEN_AT_ONCE) {
            let forgotten = part.iter().map(|lease| self.context().forget(lease.node));
            join_all(forgotten).await;
        }
        for lease in leases {
            self.send_unsent(lease.node).await;
            if self.register_opens(lease.node).await.is_err() {
                continue;
            }
            let home = self.map().home(lease.node);
            by_home.entry(home).or_default().push(lease);
        }
        if self.context().session() != session {
            return;
        }
        for (home, leases) in by_home {
            let parts = leases.chunks(GIVEN_BACK_MAX);
            let given = parts.map(|part| self.ask(home, Request::GiveBack(part.to_vec())));
            join_all(given).await;
        }
    }
}
