//! The client cache under leases: attributes of files and directories, and names.
//!
//! A server recalls a lease before another client changes the node. Even so, the state in a reply
//! can be stale for three reasons. The lease may have been recalled while the reply was under way.
//! The client itself may have changed the node. And a server may have given up on the client
//! without its knowledge. So a state is cached on three conditions. The client holds the lease, no
//! pending request of its own may change the node, and the request was sent after the last such
//! request was completed. A cached state is valid only for a limited time after a request that the
//! server has answered.

mod ahead;
mod changing;
mod data;
mod effects;
mod listings;
mod misses;
mod names;
mod opens;
mod parts;
mod recalls;
mod relayed;
mod sharing;
#[cfg(test)]
mod tests;
mod xattrs;

pub use data::{Before, DataVersions};
pub use effects::Effects;
pub use listings::CachedListing;
pub use parts::PartId;
pub use recalls::PartLease;
pub use sharing::RecallAnswer;

use crate::{
    Config,
    cache::{Cache, CacheUndo},
};
use alloc::{boxed::Box, vec::Vec};
use changing::Changing;
use effects::{Subject, comes_from_server, parts};
use futago_base::{
    Attributes, BucketStart, Duration, FileId, Kind, Name, NameHash, ServerId, SessionId, Time,
    record::Entry,
    reversible::{Changes, ReversibleMap},
};
use futago_wire::{Failure, FileState, Part, Reply};
use recalls::Early;
use relayed::{RelayedName, RelayedNode, Valid};
use serde::Serialize;
use sharing::Shared;

/// A lease that the client holds.
#[derive(Clone, Debug, Serialize)]
struct Held {
    /// The largest number of a request that brought it.
    number: u64,
    /// The lease epoch: the unique id of this holding of the lease.
    epoch: u64,
    /// The state of the part, if it is known.
    state: Option<Part>,
    /// The number of hashes that the buckets of a directory on this server cover. It stays as long
    /// as the lease.
    hashes: Option<u64>,
    /// The valid data versions; they advance when the node may have changed in between.
    versions: DataVersions,
    /// The data versions before the pending changes of this client, if the node was known when the
    /// first began.
    before: Option<Before>,
    /// Whether the data was read since the state became known.
    is_read: bool,
    /// Whether the home discloses the file to no other client before a recall.
    is_exclusive: bool,
    /// The end of an exclusive lease that has become an ordinary one.
    shared: Option<Shared>,
    /// Whether the node is known to have no extended attributes.
    lacks_xattrs: bool,
    /// The number of small writes since the lease began.
    writes: u32,
    /// The buckets of a directory, with their levels, whose names are all known.
    listed: Vec<(BucketStart, u8)>,
    /// How many look-ups in the directory the cache has answered.
    hits: u32,
    /// How many look-ups in the directory the cache has not answered, less those that paid for a
    /// listing.
    misses: u32,
    /// How many names of the directory this client has removed.
    removals: u32,
    /// How many of the next removals are of files whose leases were recalled ahead.
    recalled_ahead: u32,
}

/// A name of a part of a directory; names are in the order of their hashes.
type NameKey = (PartId, NameHash, Name);

/// The small part of the state, which is copied as a whole for an undo.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counters {
    /// The number of the latest request.
    latest: u64,
    /// The session of the last requests, unless it has ended.
    session: Option<SessionId>,
    /// How often the state of a node has become known.
    known: u64,
    /// How many leases have begun.
    taken: u64,
    /// How many settled subjects remained after the last cleanup.
    settled_left: usize,
    /// Until when the contact server is not asked, because it has not answered.
    contact_rests_until: Time,
}

/// The leases of a client and the cache under them.
#[derive(Debug, Serialize)]
pub struct Leases {
    held: Cache<Held, PartId>,
    /// Names of leased directories; `None` for a name that does not exist.
    names: ReversibleMap<NameKey, Option<Entry>>,
    changing: ReversibleMap<Subject, Changing>,
    /// The number up to which replies are too old to be cached, for each subject.
    settled: ReversibleMap<Subject, u64>,
    /// The numbers of pending requests, and whether they make files that are open from the start.
    under_way: ReversibleMap<u64, bool>,
    counters: Counters,
    /// The counters when changes were last taken, if changes are recorded.
    #[serde(skip)]
    saved: Option<Counters>,
    /// The send time of the latest request that each server has answered.
    last_reply: ReversibleMap<ServerId, Time>,
    /// Leases to return because the cache was full; bounded by the number that servers grant.
    dropped: ReversibleMap<PartId, u64>,
    /// How often files are open here and not registered at their homes.
    opens: ReversibleMap<FileId, u32>,
    /// Leases that were recalled before the reply that first granted them.
    early: ReversibleMap<PartId, Early>,
    /// The leases that the contact server relays.
    relayed: ReversibleMap<FileId, RelayedNode>,
    /// The names that it relays.
    relayed_names: ReversibleMap<RelayedName, Valid<Option<Entry>>>,
    #[serde(skip)]
    contact: Option<ServerId>,
    #[serde(skip)]
    relayed_max: usize,
    #[serde(skip)]
    trust: Duration,
    #[serde(skip)]
    names_max: usize,
}

/// The changes of [`Leases`] to undo.
#[derive(Debug)]
pub struct LeasesUndo {
    held: CacheUndo<Held, PartId>,
    names: Changes<NameKey, Option<Entry>>,
    changing: Changes<Subject, Changing>,
    settled: Changes<Subject, u64>,
    under_way: Changes<u64, bool>,
    counters: Counters,
    last_reply: Changes<ServerId, Time>,
    dropped: Changes<PartId, u64>,
    opens: Changes<FileId, u32>,
    early: Changes<PartId, Early>,
    relayed: Changes<FileId, RelayedNode>,
    relayed_names: Changes<RelayedName, Valid<Option<Entry>>>,
}

/// More settled subjects than this are cleaned up. While an old request is pending none can be
/// removed, so the next cleanup waits until their number has doubled.
const SETTLED_MAX: usize = 1024;

impl Leases {
    /// No leases; `None` for a client that accepts none.
    pub fn new(config: &Config) -> Option<Box<Self>> {
        let trust = config.lease_trust?;
        Some(Box::new(Self {
            held: Cache::new(config.leases_max),
            names: ReversibleMap::new(),
            changing: ReversibleMap::new(),
            settled: ReversibleMap::new(),
            under_way: ReversibleMap::new(),
            counters: Counters::default(),
            saved: None,
            last_reply: ReversibleMap::new(),
            dropped: ReversibleMap::new(),
            opens: ReversibleMap::new(),
            early: ReversibleMap::new(),
            relayed: ReversibleMap::new(),
            relayed_names: ReversibleMap::new(),
            contact: config.contact,
            relayed_max: config.leases_max,
            trust,
            names_max: config.names_max,
        }))
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.saved.get_or_insert(self.counters);
        self.held.record_changes();
        self.names.record_changes();
        self.changing.record_changes();
        self.settled.record_changes();
        self.under_way.record_changes();
        self.last_reply.record_changes();
        self.dropped.record_changes();
        self.opens.record_changes();
        self.early.record_changes();
        self.relayed.record_changes();
        self.relayed_names.record_changes();
    }

    /// The changes since the last call, if they are recorded.
    pub fn take_changes(&mut self) -> LeasesUndo {
        LeasesUndo {
            held: self.held.take_changes(),
            names: self.names.take_changes(),
            changing: self.changing.take_changes(),
            settled: self.settled.take_changes(),
            under_way: self.under_way.take_changes(),
            counters: self.saved.map_or(self.counters, |saved| {
                self.saved = Some(self.counters);
                saved
            }),
            last_reply: self.last_reply.take_changes(),
            dropped: self.dropped.take_changes(),
            opens: self.opens.take_changes(),
            early: self.early.take_changes(),
            relayed: self.relayed.take_changes(),
            relayed_names: self.relayed_names.take_changes(),
        }
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: LeasesUndo) {
        self.held.take_back(undo.held);
        self.names.take_back(undo.names);
        self.changing.take_back(undo.changing);
        self.settled.take_back(undo.settled);
        self.under_way.take_back(undo.under_way);
        self.counters = undo.counters;
        self.saved = self.saved.map(|_| undo.counters);
        self.last_reply.take_back(undo.last_reply);
        self.dropped.take_back(undo.dropped);
        self.opens.take_back(undo.opens);
        self.early.take_back(undo.early);
        self.relayed.take_back(undo.relayed);
        self.relayed_names.take_back(undo.relayed_names);
    }

    /// How long the cached state of the nodes of a server is valid from `now` on; zero if it is
    /// not.
    pub fn trust(&self, server: ServerId, now: Time) -> Duration {
        let last_reply = self.last_reply.get(&server);
        let until = last_reply.map_or(Time(0), |&last_reply| last_reply + self.trust);
        until.since(now)
    }

    /// The state of a node at its home, if it is known.
    pub fn state(&self, home: PartId, now: Time) -> Option<FileState> {
        let Part::Home(state) = self.held.get(home)?.state? else {
            return None;
        };
        (self.trust(home.server, now) > Duration(0)).then_some(state)
    }

    /// Whether a pending request of this client may change a node at its home.
    pub fn is_changing(&self, home: PartId) -> bool {
        self.changing.contains_key(&Subject::Attributes(home))
    }

    /// Counts a small write to a file. Returns whether to ask for an exclusive lease: after `after`
    /// writes for the first time, and then at growing intervals.
    pub fn writes(&mut self, home: PartId, after: u32) -> bool {
        let Some(held) = self.held.get_mut(home) else {
            return false;
        };
        held.writes = held.writes.saturating_add(1);
        held.writes
            .checked_div(after)
            .is_some_and(|times| held.writes % after == 0 && times.is_power_of_two())
    }

    /// How long these attributes are known to be valid.
    pub fn attributes_trust(&self, of: &Attributes, home: PartId, now: Time) -> Duration {
        match self.whole_state(home, now) {
            Some((state, trust)) if state.attributes == *of => trust,
            _ => Duration(0),
        }
    }

    /// Begins `session`, to which the next requests belong. Returns whether another session has
    /// ended by that. Nothing outlives it, even if no reply has reported its end.
    pub fn enter(&mut self, session: SessionId) -> bool {
        let session_ended = self.counters.session.is_some_and(|last| last != session);
        if session_ended {
            self.clear();
        }
        self.counters.session = Some(session);
        session_ended
    }

    /// Whether a request belongs to the present session.
    pub fn is_in_session(&self, effects: &Effects) -> bool {
        effects.session == self.counters.session
    }

    /// A request failed because its session has ended. Returns whether that is new.
    pub fn session_ended(&mut self, effects: &Effects) -> bool {
        let is_new = effects.session == self.counters.session;
        if is_new {
            self.clear();
        }
        is_new
    }

    /// Begins a request: the state that it may change becomes unknown.
    pub fn begin(&mut self, effects: &mut Effects) {
        effects.session = self.counters.session;
        for subject in effects.subjects() {
            self.forget(&subject);
            let ends_lease = effects.ends_lease(&subject);
            let changing = self.changing.get_or_insert_with(subject, Changing::default);
            changing.requests += 1;
            changing.ends_lease |= ends_lease;
            changing.changes_data |= effects.changes_data;
        }
        if effects.sets_xattr {
            for &part in &effects.parts {
                self.note_xattrs(part, false);
            }
        }
        for &part in effects.ended() {
            self.end(part);
        }
    }

    /// A request is sent. The session may have changed since the request began.
    pub fn sent(&mut self, sequence: u64, effects: &mut Effects) {
        if effects.session != self.counters.session {
            self.begin(effects);
        }
        self.counters.latest = self.counters.latest.max(sequence);
        self.under_way.insert(sequence, effects.opens);
    }

    fn forget(&mut self, subject: &Subject) {
        match subject {
            Subject::Attributes(part) => {
                let is_alone = !self.changing.contains_key(subject);
                if let Some(held) = self.held.get_mut(*part) {
                    held.begin_change(is_alone);
                }
            }
            Subject::Name(part, name) => {
                self.names.remove(&(*part, name.hash(), name.clone()));
            }
            Subject::Lease(_) => {}
        }
    }

    /// Handles the outcome of a request, other than the end of its session. `sent` is when it was
    /// sent to the server.
    pub fn completed(
        &mut self,
        sequence: u64,
        effects: &Effects,
        server: ServerId,
        sent: Time,
        outcome: Result<&Reply, &Failure>,
    ) {
        if effects.session != self.counters.session {
            return;
        }
        self.under_way.remove(&sequence);
        if comes_from_server(outcome) {
            let last_reply = self.last_reply.get_or_insert_with(server, || sent);
            *last_reply = sent.max(*last_reply);
        }
        let opened = effects.opened_file(outcome);
        if let Some(id) = opened {
            *self.opens.get_or_insert_with(id, || 0) += 1;
        }
        // If the reply itself brings the lease, the names in it are as they are under the lease.
        let names = effects.names_in_reply();
        let names = names.filter(|part| self.is_current(sequence, &Subject::Lease(*part)));
        let mut reported = Vec::new();
        let made = effects.made_node(outcome);
        let made = made.filter(|(part, _)| self.held.get(*part).is_none());
        for part in outcome.iter().flat_map(|reply| parts(reply)) {
            let id = parts::id_of(&part, server);
            if self.note_part(sequence, id, &part, effects.parts.contains(&id)) {
                reported.push(id);
            }
        }
        let opened = opened.map(|node| PartId { node, server });
        if let Some(part) = opened.filter(|part| self.held.get(*part).is_none()) {
            // The lease has ended already: the home must be notified of the open file late.
            self.early.get_or_insert_with(part, || Early {
                pending: sequence,
                number: sequence,
            });
        }
        if let Some((part, kind)) = made.filter(|(part, _)| reported.contains(part)) {
            self.note_new(sequence, part, kind);
        }
        if let (Some(part), Ok(Reply::Listing { entries, .. })) = (names, outcome) {
            self.list(sequence, part, effects.listed_bucket(outcome), entries);
        }
        let entry = effects.entry(outcome);
        let is_name_cached =
            names.is_some() && entry.is_some_and(|entry| self.note_name(sequence, effects, entry));
        if !is_name_cached {
            self.unlist(effects.names.iter().map(|(part, _)| *part));
        }
        self.done(effects, &reported);
        self.forget_settled();
    }

    /// A node is new: it has no names and no extended attributes.
    fn note_new(&mut self, sequence: u64, part: PartId, kind: Kind) {
        self.note_xattrs(part, true);
        if kind == Kind::Directory {
            self.list(sequence, part, Some((BucketStart(0), 0)), &[]);
        }
    }

    /// Handles a part of a node in a reply. Returns whether its state may be used.
    fn note_part(&mut self, sequence: u64, id: PartId, part: &Part, is_changed: bool) -> bool {
        let subject = Subject::Attributes(id);
        let is_ended = self.changing.get(&subject).is_some_and(|it| it.ends_lease);
        let is_leased = parts::is_leased(part) && self.is_current(sequence, &Subject::Lease(id));
        if !is_leased || is_ended {
            return false;
        }
        self.hold(id, sequence, part);
        if is_changed {
            if let Some(changing) = self.changing.get_mut(&subject) {
                changing.note_newer(part);
            }
        } else if !self.changing.contains_key(&subject) && self.is_current(sequence, &subject) {
            self.know(id, *part);
            self.forget_data_before(id);
        }
        true
    }

    /// Caches the state of a leased part. While the state is known only the access time changes, by
    /// reads of this client. The home does not know how much data other servers have.
    fn know(&mut self, id: PartId, mut part: Part) {
        let Some(held) = self.held.get_mut(id) else {
            return;
        };
        if let Some(known) = held.state {
            if let (Part::Home(state), Part::Home(known)) = (&mut part, known) {
                let (attributes, known) = (&mut state.attributes, known.attributes);
                attributes.accessed = known.accessed.max(attributes.accessed);
                if state.data_leased {
                    attributes.allocated_bytes =
                        attributes.allocated_bytes.or(known.allocated_bytes);
                }
            }
        } else {
            self.counters.known += 1;
            held.versions = DataVersions::only(self.counters.known);
            held.is_read = false;
        }
        held.state = Some(part);
    }

    /// Begins a lease, or raises its number. Names in other replies to requests sent so far may be
    /// stale.
    fn hold(&mut self, id: PartId, number: u64, part: &Part) {
        let is_exclusive = matches!(part, Part::Home(state) if state.exclusive);
        if let Some(held) = self.held.get_mut(id) {
            held.number = held.number.max(number);
            let is_old = held.shared.is_some_and(|shared| number <= shared.until);
            held.is_exclusive |= is_exclusive && !is_old;
            return;
        }
        self.settle(Subject::Lease(id));
        self.dropped.remove(&id);
        self.counters.taken += 1;
        let new = Held {
            number,
            epoch: self.counters.taken,
            state: None,
            hashes: parts::buckets(part).map(|buckets| buckets.hashes),
            versions: DataVersions::default(),
            before: None,
            is_read: false,
            is_exclusive,
            shared: None,
            lacks_xattrs: false,
            writes: 0,
            listed: Vec::new(),
            hits: 0,
            misses: 0,
            removals: 0,
            recalled_ahead: 0,
        };
        if let Some((oldest, held)) = self.held.insert(id, new) {
            self.forget_names(oldest);
            self.settle(Subject::Lease(oldest));
            self.dropped.insert(oldest, held.number);
        }
    }

    /// Ends a pending request; its reply contained the states of some nodes.
    fn done(&mut self, effects: &Effects, reported: &[PartId]) {
        for subject in effects.subjects() {
            let is_reported =
                matches!(subject, Subject::Attributes(part) if reported.contains(&part));
            if let Subject::Attributes(part) = subject
                && !is_reported
            {
                // The node may be removed.
                self.unlist([part]);
            }
            let Some(changing) = self.changing.get_mut(&subject) else {
                continue;
            };
            changing.requests = changing.requests.saturating_sub(1);
            changing.is_unknown |= !is_reported;
            let is_last = changing.requests == 0;
            self.settle(subject.clone());
            if is_last && let Some(changing) = self.changing.remove(&subject) {
                self.changed(&subject, &changing);
            }
        }
        for &part in effects.ended() {
            self.end(part);
        }
    }

    /// All pending requests that might change the subject are completed.
    fn changed(&mut self, subject: &Subject, changing: &Changing) {
        if let Subject::Attributes(id) = subject
            && !changing.is_unknown
            && let Some(newest) = changing.newest
        {
            self.know(*id, newest);
            if !changing.changes_data {
                self.restore_data_versions(*id);
            }
        }
    }

    /// Replies to the requests sent so far are too old to be cached for this subject.
    fn settle(&mut self, subject: Subject) {
        self.settled.insert(subject, self.counters.latest);
    }

    fn is_current(&self, sequence: u64, subject: &Subject) -> bool {
        self.settled
            .get(subject)
            .is_none_or(|&settled| sequence > settled)
    }

    fn forget_settled(&mut self) {
        if self.settled.len() <= SETTLED_MAX.max(2 * self.counters.settled_left) {
            return;
        }
        let oldest = self.under_way.first_key_value();
        let oldest = oldest.map_or(self.counters.latest + 1, |(&sequence, _)| sequence);
        let past = self
            .settled
            .iter()
            .filter(|&(_, &settled)| settled < oldest);
        let past: Vec<Subject> = past.map(|(subject, _)| subject.clone()).collect();
        for subject in past {
            self.settled.remove(&subject);
        }
        self.counters.settled_left = self.settled.len();
    }

    /// Ends the leases on all parts of a node.
    pub fn end_all(&mut self, node: FileId) {
        let parts: Vec<PartId> = self.parts_of(node).collect();
        for part in parts {
            self.end(part);
        }
    }

    /// Ends the lease on a part.
    fn end(&mut self, id: PartId) {
        self.held.remove(id);
        self.forget_names(id);
        self.settle(Subject::Lease(id));
        if let Some(changing) = self.changing.get_mut(&Subject::Attributes(id)) {
            changing.is_unknown = true;
        }
    }

    /// Ends the session, and all leases with it. The next session numbers its requests anew.
    pub fn clear(&mut self) {
        while let Some(id) = self.held.oldest() {
            self.held.remove(id);
        }
        while self.names.pop_first().is_some() {}
        while self.changing.pop_first().is_some() {}
        while self.settled.pop_first().is_some() {}
        while self.under_way.pop_first().is_some() {}
        while self.last_reply.pop_first().is_some() {}
        while self.dropped.pop_first().is_some() {}
        while self.opens.pop_first().is_some() {}
        while self.early.pop_first().is_some() {}
        while self.relayed.pop_first().is_some() {}
        while self.relayed_names.pop_first().is_some() {}
        self.counters.latest = 0;
        self.counters.settled_left = 0;
        self.counters.session = None;
    }
}
