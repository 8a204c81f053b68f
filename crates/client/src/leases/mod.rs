//! What a client keeps under leases: attributes of files and directories, and names.
//!
//! A server tells whoever has a lease before others change the node. Three things may still come between what an
//! answer says and what is so, and are watched here: a lease that was called back while the answer was on its
//! way, a change by the client itself, and a server that has given up on the client without its knowing. So
//! what an answer tells is kept only if the lease is held, no request of the client's own that may change it
//! is under way, and the request was sent after the last of those was done; and it is used only for a time
//! after a request that the server has answered.

mod asked;
mod changing;
mod data;
mod listings;
mod opens;
mod recalls;
#[cfg(test)]
mod tests;

pub use asked::Asked;
pub use data::{Before, Stamps};

use crate::{
    Config,
    cache::{Cache, CacheUndo},
};
use alloc::{boxed::Box, vec::Vec};
use asked::{Subject, comes_from_server, states};
use changing::Changing;
use futago_base::{
    Attributes, Duration, FileId, Name, ServerId, SessionId, Time,
    record::Entry,
    reversible::{Changes, ReversibleMap},
};
use futago_wire::{Failure, FileState, Reply};
use recalls::Early;
use serde::Serialize;

/// A lease that is held.
#[derive(Clone, Debug, Serialize)]
struct Held {
    /// The largest number of a request that it was given for.
    number: u64,
    /// The time since it was taken, as a number that no other such time has.
    period: u64,
    /// The node, if it is known.
    state: Option<FileState>,
    /// What tells how long its data has been as it is: they change when the node may have changed in between.
    stamps: Stamps,
    /// How its data was before the client's own changes that are under way, if the first began when the node was known.
    before: Option<Before>,
    /// Its data was read since then.
    is_read: bool,
    /// Nobody else is told anything of the file.
    is_exclusive: bool,
    /// How many small writes were sent since the lease was taken.
    writes: u32,
    /// It is a directory of which all names are known.
    is_listed: bool,
}

/// What is small enough to be copied as a whole.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counters {
    /// The number of the latest request.
    latest: u64,
    /// The session whose requests were sent last, unless it is over.
    session: Option<SessionId>,
    /// How often a node has come to be known.
    known: u64,
    /// How often a lease was taken.
    taken: u64,
    /// How much of what is settled was left when it was last looked through.
    settled_left: usize,
}

/// The leases of a client and what it keeps under them.
#[derive(Debug, Serialize)]
pub struct Leases {
    held: Cache<Held>,
    /// Names of directories that are leased; `None` is a name that does not exist.
    names: ReversibleMap<(FileId, Name), Option<Entry>>,
    changing: ReversibleMap<Subject, Changing>,
    /// Answers to requests up to this number tell nothing that may be kept.
    settled: ReversibleMap<Subject, u64>,
    /// The numbers of requests that have not been answered, and whether they make files that are open from the start.
    under_way: ReversibleMap<u64, bool>,
    counters: Counters,
    /// The counters when changes were last taken, if they are kept.
    #[serde(skip)]
    kept: Option<Counters>,
    /// When the latest request was sent that the server has answered.
    heard: ReversibleMap<ServerId, Time>,
    /// Leases that are not needed any more; no more than servers have given.
    dropped: ReversibleMap<FileId, u64>,
    /// How often files are open without their homes' knowing.
    opens: ReversibleMap<FileId, u32>,
    /// Leases that were called back before the answer came with which they were given first.
    early: ReversibleMap<FileId, Early>,
    #[serde(skip)]
    trust: Duration,
    #[serde(skip)]
    names_max: usize,
}

/// What it takes to bring [`Leases`] back to where they were.
#[derive(Debug)]
pub struct LeasesUndo {
    held: CacheUndo<Held>,
    names: Changes<(FileId, Name), Option<Entry>>,
    changing: Changes<Subject, Changing>,
    settled: Changes<Subject, u64>,
    under_way: Changes<u64, bool>,
    counters: Counters,
    heard: Changes<ServerId, Time>,
    dropped: Changes<FileId, u64>,
    opens: Changes<FileId, u32>,
    early: Changes<FileId, Early>,
}

/// More of what is settled than this is looked through for what does not matter any more. While an old request is under
/// way all of it matters: then only when it has doubled.
const SETTLED_MAX: usize = 1024;

impl Leases {
    /// None yet; nothing at all for a client that takes none.
    pub fn new(config: &Config) -> Option<Box<Self>> {
        let trust = config.lease_trust?;
        Some(Box::new(Self {
            held: Cache::new(config.leases_max),
            names: ReversibleMap::new(),
            changing: ReversibleMap::new(),
            settled: ReversibleMap::new(),
            under_way: ReversibleMap::new(),
            counters: Counters::default(),
            kept: None,
            heard: ReversibleMap::new(),
            dropped: ReversibleMap::new(),
            opens: ReversibleMap::new(),
            early: ReversibleMap::new(),
            trust,
            names_max: config.names_max,
        }))
    }

    /// From now on, remembers how changes are taken back.
    pub fn record_changes(&mut self) {
        self.kept.get_or_insert(self.counters);
        self.held.record_changes();
        self.names.record_changes();
        self.changing.record_changes();
        self.settled.record_changes();
        self.under_way.record_changes();
        self.heard.record_changes();
        self.dropped.record_changes();
        self.opens.record_changes();
        self.early.record_changes();
    }

    /// What takes back the changes since the last time, if they are kept.
    pub fn take_changes(&mut self) -> LeasesUndo {
        LeasesUndo {
            held: self.held.take_changes(),
            names: self.names.take_changes(),
            changing: self.changing.take_changes(),
            settled: self.settled.take_changes(),
            under_way: self.under_way.take_changes(),
            counters: self.kept.map_or(self.counters, |kept| {
                self.kept = Some(self.counters);
                kept
            }),
            heard: self.heard.take_changes(),
            dropped: self.dropped.take_changes(),
            opens: self.opens.take_changes(),
            early: self.early.take_changes(),
        }
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: LeasesUndo) {
        self.held.take_back(undo.held);
        self.names.take_back(undo.names);
        self.changing.take_back(undo.changing);
        self.settled.take_back(undo.settled);
        self.under_way.take_back(undo.under_way);
        self.counters = undo.counters;
        self.kept = self.kept.map(|_| undo.counters);
        self.heard.take_back(undo.heard);
        self.dropped.take_back(undo.dropped);
        self.opens.take_back(undo.opens);
        self.early.take_back(undo.early);
    }

    /// How long what is kept of a server's nodes may be used from `now` on; zero if it may not.
    pub fn trust(&self, server: ServerId, now: Time) -> Duration {
        let heard = self.heard.get(&server);
        let until = heard.map_or(Time(0), |&heard| heard + self.trust);
        until.since(now)
    }

    /// A node's state, if it is known under a lease of `home`.
    pub fn state(&self, id: FileId, home: ServerId, now: Time) -> Option<FileState> {
        let state = self.held.get(id)?.state?;
        (self.trust(home, now) > Duration(0)).then_some(state)
    }

    /// The time for which a lease of a node's `home` has been held without a gap, as a number that no other such time has.
    pub fn period(&self, id: FileId, home: ServerId, now: Time) -> Option<u64> {
        let held = self.held.get(id)?;
        (self.trust(home, now) > Duration(0)).then_some(held.period)
    }

    /// Whether a request is under way by which the client may change a node.
    pub fn is_changing(&self, id: FileId) -> bool {
        self.changing.contains_key(&Subject::Attributes(id))
    }

    /// Counts a small write to a file. Returns whether it is time to ask for an exclusive lease: the first time after so
    /// many, and then ever more seldom.
    pub fn writes(&mut self, id: FileId, after: u32) -> bool {
        let Some(held) = self.held.get_mut(id) else {
            return false;
        };
        held.writes = held.writes.saturating_add(1);
        held.writes
            .checked_div(after)
            .is_some_and(|times| held.writes % after == 0 && times.is_power_of_two())
    }

    /// What a name of a directory leads to, if that is known under a lease of its `home`.
    pub fn name(
        &self,
        directory: FileId,
        name: &Name,
        home: ServerId,
        now: Time,
    ) -> Option<Option<Entry>> {
        let key = (directory, name.clone());
        let entry = match self.names.get(&key) {
            Some(entry) => *entry,
            None if self.is_absent(key) => None,
            None => return None,
        };
        (self.trust(home, now) > Duration(0)).then_some(entry)
    }

    /// For how long these attributes are known to be right.
    pub fn attributes_trust(&self, of: &Attributes, home: ServerId, now: Time) -> Duration {
        match self.state(of.id, home, now) {
            Some(state) if state.attributes == *of => self.trust(home, now),
            _ => Duration(0),
        }
    }

    /// The requests that follow are numbered in `session`. Returns whether there was another one, which nothing outlives even
    /// if none of its requests has told of its end yet.
    pub fn enter(&mut self, session: SessionId) -> bool {
        let is_over = self.counters.session.is_some_and(|last| last != session);
        if is_over {
            self.clear();
        }
        self.counters.session = Some(session);
        is_over
    }

    /// A request was told that its session is over. Returns whether that was not known yet.
    pub fn is_over(&mut self, asked: &Asked) -> bool {
        let is_new = asked.session == self.counters.session;
        if is_new {
            self.clear();
        }
        is_new
    }

    /// A request is about to be sent: what it may change is not known any more.
    pub fn begin(&mut self, asked: &mut Asked) {
        asked.session = self.counters.session;
        for subject in asked.subjects() {
            self.forget(&subject);
            let ends_lease = asked.ends_lease(&subject);
            let changing = self.changing.get_or_insert_with(subject, Changing::default);
            changing.requests += 1;
            changing.ends_lease |= ends_lease;
            changing.changes_data |= asked.changes_data;
        }
        for &node in asked.ended() {
            self.end(node);
        }
    }

    /// A request is sent. The session may be another one than when it was begun.
    pub fn sent(&mut self, sequence: u64, asked: &mut Asked) {
        if asked.session != self.counters.session {
            self.begin(asked);
        }
        self.counters.latest = self.counters.latest.max(sequence);
        self.under_way.insert(sequence, asked.opens);
    }

    fn forget(&mut self, subject: &Subject) {
        match subject {
            Subject::Attributes(id) => {
                let is_alone = !self.changing.contains_key(subject);
                if let Some(held) = self.held.get_mut(*id) {
                    held.begin_change(is_alone);
                }
            }
            Subject::Name(directory, name) => {
                self.names.remove(&(*directory, name.clone()));
            }
            Subject::Lease(_) => {}
        }
    }

    /// A request that was sent to a server at some time has its answer, other than that its session is over.
    pub fn answered(
        &mut self,
        sequence: u64,
        asked: &Asked,
        (server, sent): (ServerId, Time),
        answer: Result<&Reply, &Failure>,
    ) {
        if asked.session != self.counters.session {
            return;
        }
        self.under_way.remove(&sequence);
        if comes_from_server(answer) {
            let heard = self.heard.get_or_insert_with(server, || sent);
            *heard = sent.max(*heard);
        }
        let opened = asked.opened_file(answer);
        if let Some(id) = opened {
            *self.opens.get_or_insert_with(id, || 0) += 1;
        }
        let mut told = Vec::new();
        let made = asked
            .made_directory(answer)
            .filter(|id| self.held.get(*id).is_none());
        for state in answer.iter().flat_map(|reply| states(reply)) {
            let id = state.attributes.id;
            if self.told(sequence, state, asked.touched.nodes.contains(&id)) {
                told.push(id);
            }
        }
        if let Some(id) = opened.filter(|id| self.held.get(*id).is_none()) {
            // The lease has ended before: its home is to hear what is open, late as it is.
            self.early.get_or_insert_with(id, || Early {
                awaited: sequence,
                number: sequence,
            });
        }
        if let Some(id) = made.filter(|id| told.contains(id)) {
            self.list(sequence, id, &[]);
        }
        if let (Some(id), Ok(Reply::Listing { entries, .. })) = (asked.listed(answer), answer)
            && self.is_late_enough(sequence, &Subject::Lease(id))
        {
            self.list(sequence, id, entries);
        }
        let entry = asked.entry(answer);
        let is_name_told = entry.is_some_and(|entry| self.told_name(sequence, asked, entry));
        if !is_name_told {
            self.unlist(&asked.touched.names);
        }
        self.done(asked, &told);
        self.forget_settled();
    }

    /// An answer tells how a node stands. Returns whether that counts.
    fn told(&mut self, sequence: u64, state: &FileState, is_changed: bool) -> bool {
        let id = state.attributes.id;
        let subject = Subject::Attributes(id);
        let is_ended = self.changing.get(&subject).is_some_and(|it| it.ends_lease);
        if !state.leased || is_ended || !self.is_late_enough(sequence, &Subject::Lease(id)) {
            return false;
        }
        self.hold(id, sequence, state.exclusive);
        if is_changed {
            if let Some(changing) = self.changing.get_mut(&subject) {
                changing.keep_newer(state);
            }
        } else if !self.changing.contains_key(&subject) && self.is_late_enough(sequence, &subject) {
            self.know(id, *state);
            self.forget_data_before(id);
        }
        true
    }

    /// Keeps how a node stands of which there is a lease. While it is known nothing changes but the access time, by
    /// the client's own reads.
    fn know(&mut self, id: FileId, mut state: FileState) {
        let Some(held) = self.held.get_mut(id) else {
            return;
        };
        if let Some(known) = held.state {
            let accessed = &mut state.attributes.accessed;
            *accessed = known.attributes.accessed.max(*accessed);
        } else {
            self.counters.known += 1;
            held.stamps = Stamps::only(self.counters.known);
            held.is_read = false;
        }
        held.state = Some(state);
    }

    /// Takes a lease, or another number of one. What requests that were sent before tell of names may be older.
    fn hold(&mut self, id: FileId, number: u64, is_exclusive: bool) {
        if let Some(held) = self.held.get_mut(id) {
            held.number = held.number.max(number);
            held.is_exclusive |= is_exclusive;
            return;
        }
        self.settle(Subject::Lease(id));
        self.dropped.remove(&id);
        self.counters.taken += 1;
        let new = Held {
            number,
            period: self.counters.taken,
            state: None,
            stamps: Stamps::default(),
            before: None,
            is_read: false,
            is_exclusive,
            writes: 0,
            is_listed: false,
        };
        if let Some((oldest, held)) = self.held.insert(id, new) {
            self.forget_names(oldest);
            self.settle(Subject::Lease(oldest));
            self.dropped.insert(oldest, held.number);
        }
    }

    /// An answer tells what a name leads to. Returns whether that counts.
    fn told_name(&mut self, sequence: u64, asked: &Asked, entry: Option<Entry>) -> bool {
        let Some((directory, name)) = asked.name.clone() else {
            return false;
        };
        let own = u32::from(!asked.touched.names.is_empty());
        let subject = Subject::Name(directory, name.clone());
        let changing = self.changing.get(&subject);
        let is_alone = changing.map_or(0, |changing| changing.requests) == own;
        let is_kept = self.held.get(directory).is_some()
            && is_alone
            && self.is_late_enough(sequence, &Subject::Lease(directory))
            && self.is_late_enough(sequence, &subject);
        if is_kept {
            self.keep_name((directory, name), entry);
        }
        is_kept
    }

    fn keep_name(&mut self, key: (FileId, Name), entry: Option<Entry>) {
        if self.names.len() >= self.names_max
            && let Some((forgotten, _)) = self.names.pop_first()
        {
            self.unlist(&[forgotten]);
        }
        self.names.insert(key, entry);
    }

    /// A request is not under way any more; its answer has told of some nodes.
    fn done(&mut self, asked: &Asked, told: &[FileId]) {
        for subject in asked.subjects() {
            let is_told = matches!(subject, Subject::Attributes(id) if told.contains(&id));
            if !is_told {
                self.unlist_node(&subject);
            }
            let Some(changing) = self.changing.get_mut(&subject) else {
                continue;
            };
            changing.requests = changing.requests.saturating_sub(1);
            changing.is_spoilt |= !is_told;
            let is_last = changing.requests == 0;
            self.settle(subject.clone());
            if is_last && let Some(changing) = self.changing.remove(&subject) {
                self.changed(&subject, &changing);
            }
        }
        for &node in asked.ended() {
            self.end(node);
        }
    }

    /// All requests that might have changed something are done.
    fn changed(&mut self, subject: &Subject, changing: &Changing) {
        if let Subject::Attributes(id) = subject
            && !changing.is_spoilt
            && let Some(newest) = changing.newest
        {
            self.know(*id, newest);
            if !changing.changes_data {
                self.data_goes_on(*id, None);
            }
        }
    }

    /// Answers to the requests that have been sent so far tell nothing about it that may be kept.
    fn settle(&mut self, subject: Subject) {
        self.settled.insert(subject, self.counters.latest);
    }

    fn is_late_enough(&self, sequence: u64, subject: &Subject) -> bool {
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

    /// There is no lease on a node any more.
    pub fn end(&mut self, id: FileId) {
        self.held.remove(id);
        self.forget_names(id);
        self.settle(Subject::Lease(id));
        if let Some(changing) = self.changing.get_mut(&Subject::Attributes(id)) {
            changing.is_spoilt = true;
        }
    }

    fn forget_names(&mut self, directory: FileId) {
        let first = (directory, Name::least());
        let names = self.names.range(first..);
        let names: Vec<(FileId, Name)> = names
            .map(|(key, _)| key)
            .take_while(|(at, _)| *at == directory)
            .cloned()
            .collect();
        for key in names {
            self.names.remove(&key);
        }
    }

    /// The session is over, and all leases with it. Requests of the next one are numbered anew.
    pub fn clear(&mut self) {
        while let Some(id) = self.held.oldest() {
            self.held.remove(id);
        }
        while self.names.pop_first().is_some() {}
        while self.changing.pop_first().is_some() {}
        while self.settled.pop_first().is_some() {}
        while self.under_way.pop_first().is_some() {}
        while self.heard.pop_first().is_some() {}
        while self.dropped.pop_first().is_some() {}
        while self.opens.pop_first().is_some() {}
        while self.early.pop_first().is_some() {}
        self.counters.latest = 0;
        self.counters.settled_left = 0;
        self.counters.session = None;
    }
}
