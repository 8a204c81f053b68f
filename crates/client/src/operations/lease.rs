//! Leases: the facts that are cached under them, and their return.

use super::lookup::Found;
use crate::{
    Client, Context,
    join::both,
    join_all,
    leases::{Leases, PartId, PartLease, RecallAnswer},
};
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};
use core::pin::pin;
use futago_base::{Attributes, Duration, Errno, FileId, Name, ServerId, record::Entry};
use futago_wire::{FileState, Lease, LeaseRecall, Request, Spot};

/// The most nodes that are invalidated in parallel, because a kernel may take a while for each.
const INVALIDATED_MAX: usize = 64;
/// The set-user-id and set-group-id bits.
const SET_ID: u16 = 0o6000;
/// The most leases that one message returns.
const RETURNED_MAX: usize = 1024;

impl<C: Context> Client<C> {
    /// The state of a node, if it is known under a lease and the node has no dirty data.
    pub(crate) fn leased_state(&self, id: FileId) -> Option<FileState> {
        let memory = self.memory.borrow();
        let leases = memory.leases.as_deref()?;
        let is_sent = memory.write_buffer.file(id).is_none();
        let state = leases.state(self.home_part(id), self.context().now());
        state.filter(|_| is_sent)
    }

    /// The state of a node, if it is known under a lease of its home or of the contact server.
    pub(crate) fn known_state(&self, id: FileId) -> Option<FileState> {
        let state = self.leased_state(id);
        let now = self.context().now();
        let relayed = || self.with_leases(|leases| leases.relayed_state(id, now))?;
        state.or_else(|| relayed().filter(|_| !self.is_dirty(id)))
    }

    /// Whether a file may have set-user-id or set-group-id bits. Only a lease can rule it out.
    pub fn may_be_set_id(&self, id: FileId) -> bool {
        let memory = self.memory.borrow();
        let leased = |leases: &Leases| leases.state(self.home_part(id), self.context().now());
        let state = memory.leases.as_deref().and_then(leased);
        state.is_none_or(|state| state.attributes.mode & SET_ID != 0)
    }

    /// Whether a node is known to have no extended attributes.
    pub(crate) fn lacks_xattrs(&self, id: FileId) -> bool {
        let (home, now) = (self.home_part(id), self.context().now());
        self.with_leases(|leases| leases.lacks_xattrs(home, now)) == Some(true)
    }

    /// The location of a name, as far as the client knows, and the part of the directory there.
    pub(crate) fn location(&self, directory: FileId, name: &Name) -> (Spot, PartId) {
        let at = Spot {
            directory,
            bucket: self.bucket_of(directory, name.hash()),
            name: name.clone(),
        };
        let (node, server) = (directory, self.server_of(&at));
        (at, PartId { node, server })
    }

    /// The entry of a name, if it is known under a lease.
    fn leased_name(&self, part: PartId, name: &Name) -> Option<Option<Entry>> {
        let memory = self.memory.borrow();
        let leases = memory.leases.as_deref()?;
        leases.name(part, name, self.context().now())
    }

    /// The entry of a name that is known to exist.
    pub(crate) fn leased_entry(&self, directory: FileId, name: &Name) -> Option<Entry> {
        let (_, part) = self.location(directory, name);
        self.leased_name(part, name).flatten()
    }

    /// Like [`Client::find_place`], if it is cached.
    pub(crate) fn leased_place(
        &self,
        directory: FileId,
        name: &Name,
    ) -> Option<Result<Found, Spot>> {
        let (at, part) = self.location(directory, name);
        let entry = self.leased_name(part, name)?;
        Some(match entry {
            Some(entry) => {
                let state = self.leased_state(entry.id);
                if state.is_some() {
                    self.with_leases(|leases| leases.note_hit(part));
                }
                Ok(Found { at, entry, state })
            }
            None => Err(at),
        })
    }

    /// Whether to list the bucket of a name that is not cached, instead of looking it up.
    pub(crate) fn is_listing_paid(&self, directory: FileId, name: &Name) -> bool {
        let (_, part) = self.location(directory, name);
        let level = self.buckets(directory).first_level();
        let (most, now) = (self.config().listed_at_once.into(), self.context().now());
        let is_paid = |leases: &mut Leases| {
            let names = leases.buckets(part, now)?;
            Some(names.entries_of_bucket(level) <= most && leases.note_miss(part, names.entries))
        };
        self.with_leases(is_paid).flatten().unwrap_or_default()
    }

    /// The files to read ahead together with a file that was found.
    pub(crate) fn ahead(&self, found: &Found) -> Vec<FileId> {
        let (_, part) = self.location(found.at.directory, &found.at.name);
        let home = |id| self.home_part(id);
        let ahead = |leases: &mut Leases| leases.ahead(part, &found.at.name, found.entry.id, home);
        let mut ahead = self.with_leases(ahead).unwrap_or_default();
        ahead.retain(|&id| !self.is_dirty(id));
        ahead
    }

    /// Recalls the leases of others on the files whose names follow the removed name of a file, if
    /// they are probably removed next.
    pub(crate) async fn recall_ahead(&self, at: &Spot) {
        let (directory, server) = (at.directory, self.server_of(at));
        let part = PartId {
            node: directory,
            server,
        };
        let home = |id| self.home_part(id);
        let ahead = |leases: &mut Leases| leases.removals_ahead(part, &at.name, home);
        let files = self.with_leases(ahead).unwrap_or_default();
        if !files.is_empty() {
            // Without it the removals wait, each for itself.
            self.ask(server, Request::RecallAhead(files)).await.ok();
        }
    }

    /// How long other caches may use these attributes of a node. Until then, or until
    /// [`Context::forget`] names the node, its home does not change them.
    pub fn attributes_trust(&self, attributes: &Attributes) -> Duration {
        if self.is_dirty(attributes.id) {
            return Duration(0);
        }
        let (home, now) = (self.home_part(attributes.id), self.context().now());
        self.with_leases(|leases| leases.attributes_trust(attributes, home, now))
            .unwrap_or_default()
    }

    /// How long other caches may use the data of a file. Until then, or until [`Context::forget`]
    /// names the file, only this client changes it.
    pub fn data_trust(&self, id: FileId) -> Duration {
        if self.is_dirty(id) {
            return Duration(0);
        }
        let (home, now) = (self.home_part(id), self.context().now());
        let trust = |leases: &mut Leases| {
            let is_covered = leases.data_versions(home, now).is_some();
            is_covered.then(|| leases.trust(home.server, now))
        };
        self.with_leases(trust).flatten().unwrap_or_default()
    }

    /// The lease epoch of a node: the unique id of this holding of its lease, or of the leases on
    /// all parts of a directory; `None` without valid leases. Within one epoch, or until
    /// [`Context::forget`] names the node, only this client changes its attributes. The same holds
    /// for the names of a directory whose names are all known.
    pub fn lease_epoch(&self, id: FileId) -> Option<u64> {
        let (home, now) = (self.home_part(id), self.context().now());
        self.with_leases(|leases| leases.epoch(home, now)).flatten()
    }

    /// Whether all names of a directory are known under leases.
    pub fn has_all_names(&self, directory: FileId) -> bool {
        let now = self.context().now();
        self.with_leases(|leases| leases.is_listed(directory, now))
            .unwrap_or_default()
    }

    /// Asks for a lease that covers the data of a file. It may be refused for now:
    /// [`Client::data_trust`] shows the result. Errors: `ESTALE` if the file does not exist.
    pub async fn lease_data(&self, id: FileId) -> Result<(), Errno> {
        if self.config().lease_trust.is_none() || self.data_trust(id) > Duration(0) {
            return Ok(());
        }
        self.command_home(id, Request::AnnounceChanges(id)).await?;
        self.persist(|| self.ask_state(id)).await?;
        Ok(())
    }

    /// How long other caches may use the entry of a name, or its absence; as
    /// [`Client::attributes_trust`].
    pub fn name_trust(&self, directory: FileId, name: &Name, id: Option<FileId>) -> Duration {
        let (_, part) = self.location(directory, name);
        match self.leased_name(part, name) {
            Some(entry) if entry.map(|entry| entry.id) == id => {
                let now = self.context().now();
                self.with_leases(|leases| leases.trust(part.server, now))
                    .unwrap_or_default()
            }
            _ => Duration::default(),
        }
    }

    /// The server that has a name, as far as the client knows.
    pub fn name_server(&self, directory: FileId, name: &Name) -> ServerId {
        self.location(directory, name).1.server
    }

    /// Gives up leases that a request of this client is about to end.
    pub(crate) async fn end_leases(&self, nodes: &[FileId]) {
        for &node in nodes {
            self.with_leases(|leases| leases.end_all(node));
        }
        for &node in nodes {
            self.flush(node).await;
        }
    }

    /// Handles recalls of a server: returns the leases once their cached state is no longer in use,
    /// or shares what was written under them.
    pub async fn recalled(&self, server: ServerId, recalls: Vec<LeaseRecall>) {
        let written = self.still_written(server, &recalls);
        if written.is_empty() {
            return self.answer_recalls(server, recalls).await;
        }
        // Boxed, because it is rare and large. If it fails, the server recalls once more.
        let mut asks_for_time = Box::pin(self.ask(server, Request::StillWriting(written)));
        let mut answers = Box::pin(self.answer_recalls(server, recalls));
        let (_, ()) = both(asks_for_time.as_mut(), answers.as_mut()).await;
    }

    /// The files whose leases are recalled again while they are written back: another server may
    /// not answer.
    fn still_written(&self, server: ServerId, recalls: &[LeaseRecall]) -> Vec<FileId> {
        let is_answered = |recall: &&LeaseRecall| {
            let known = self.with_leases(|leases| leases.is_answered(server, recall));
            self.is_dirty(recall.lease.node) && known.unwrap_or_default()
        };
        let written = recalls.iter().filter(is_answered);
        written.map(|recall| recall.lease.node).collect()
    }

    async fn answer_recalls(&self, server: ServerId, recalls: Vec<LeaseRecall>) {
        let (mut returned, mut shared) = (Vec::new(), Vec::new());
        for recall in recalls {
            match self.answer_to(server, &recall) {
                RecallAnswer::Return => returned.push(recall),
                RecallAnswer::Share => shared.push(recall),
                RecallAnswer::Nothing => {}
            }
        }
        if shared.is_empty() {
            return self.return_recalled(server, returned).await;
        }
        // Boxed, because it is rare and large.
        let mut shares = Box::pin(async {
            let failed = self.share_written(shared).await;
            self.return_recalled(server, failed).await;
        });
        both(
            pin!(self.return_recalled(server, returned)),
            shares.as_mut(),
        )
        .await;
    }

    async fn return_recalled(&self, server: ServerId, mut recalls: Vec<LeaseRecall>) {
        recalls.retain(|&recall| {
            let is_ended = self.with_leases(|leases| leases.recalled(server, recall));
            is_ended.unwrap_or(true)
        });
        let ended = recalls.into_iter().map(|recall| {
            let Lease { node, number } = recall.lease;
            let part = PartId { node, server };
            PartLease { part, number }
        });
        self.return_leases(ended.collect()).await;
    }

    /// Returns the leases that were dropped from the full cache.
    pub(crate) async fn return_dropped_leases(&self) {
        if let Some(dropped) = self.with_leases(|leases| leases.take_dropped()) {
            self.return_leases(dropped).await;
        }
    }

    /// Invalidates other caches, writes back and registers opens, then returns leases. A lease is
    /// not returned if its opens could not be registered, or if another session has begun, whose
    /// leases have other numbers. The server then repeats the recall, or waits until the lease
    /// expires.
    pub(crate) async fn return_leases(&self, leases: Vec<PartLease>) {
        let session = self.context().session();
        let mut by_server: BTreeMap<ServerId, Vec<Lease>> = BTreeMap::new();
        for some in leases.chunks(INVALIDATED_MAX) {
            let forgotten = some.iter().map(|lease| {
                let PartId { node, server } = lease.part;
                self.context().forget(node, Some(server))
            });
            join_all(forgotten).await;
        }
        for lease in leases {
            let PartId { node, server } = lease.part;
            self.flush(node).await;
            if self.register_opens(node).await.is_err() {
                continue;
            }
            by_server.entry(server).or_default().push(lease.lease());
        }
        if self.context().session() != session {
            return;
        }
        for (server, leases) in by_server {
            let some = leases.chunks(RETURNED_MAX);
            let given = some.map(|some| self.ask(server, Request::GiveBack(some.to_vec())));
            join_all(given).await;
        }
    }
}
