//! What tells whether a file's data that is kept is still right.

use super::{Held, Leases};
use futago_base::{Duration, FileId, ServerId, Time};
use serde::Serialize;

/// Stamps number the times in which nobody changes a file's data. What was kept with one of these is right now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stamps {
    /// The first of them.
    first: u64,
    /// That of now.
    pub now: u64,
}

impl Stamps {
    /// Only what is kept from now on is right.
    pub(super) const fn only(now: u64) -> Self {
        Self { first: now, now }
    }

    /// Whether data is right that was kept with this stamp.
    pub const fn cover(self, stamp: u64) -> bool {
        self.first <= stamp
    }

    /// What was kept before a change stays right, too.
    const fn go_on(&mut self, before: Self) {
        self.first = before.first;
    }
}

/// How a file's data was before changes of the client's own that overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Before {
    pub stamps: Stamps,
    /// How many such changes have begun.
    pub changes: usize,
}

impl Held {
    /// The client is about to change the node, alone or beside other changes of its own.
    pub(super) fn begin_change(&mut self, is_alone: bool) {
        let known = self.state.take().map(|_| self.stamps);
        if is_alone {
            self.before = known.map(|stamps| Before { stamps, changes: 0 });
        }
        if let Some(before) = &mut self.before {
            before.changes += 1;
        }
    }
}

impl Leases {
    /// The stamps of what is right of a file's data, which is covered by a lease of its `home`: while they stay, the data
    /// stays. `None` if the data is not covered now.
    pub fn data_stamps(&self, id: FileId, home: ServerId, now: Time) -> Option<Stamps> {
        let state = self.state(id, home, now)?;
        let held = self.held.get(id)?;
        state.data_leased.then_some(held.stamps)
    }

    /// A file's data is read. Returns whether a lease that covers it is worth asking for: there is one that does not,
    /// and the data was read before and has not been changed by this client since.
    pub fn reads(&mut self, id: FileId) -> bool {
        let Some(held) = self.held.get_mut(id) else {
            return false;
        };
        let is_again = core::mem::replace(&mut held.is_read, true);
        is_again && held.state.is_some_and(|state| !state.data_leased)
    }

    /// Changes of the client's own are over that have changed no data of a file, or none that is kept any more: what else
    /// was kept before stays right if nothing but these has happened since. The caller may know when they began, and how many
    /// they were. Returns the stamps if it is so.
    pub fn data_goes_on(&mut self, id: FileId, before: Option<Before>) -> Option<Stamps> {
        let held = self.held.get_mut(id)?;
        let then = held.before.take()?;
        if held.state.is_none() || before.is_some_and(|before| before != then) {
            return None;
        }
        held.stamps.go_on(then.stamps);
        Some(held.stamps)
    }

    /// Something else may have happened since the client's own change.
    pub(super) fn forget_data_before(&mut self, id: FileId) {
        if let Some(held) = self.held.get_mut(id) {
            held.before = None;
        }
    }

    /// The client has changed a file's data after the answer that told how the file is now.
    pub fn data_changed(&mut self, id: FileId) {
        self.counters.known += 1;
        if let Some(held) = self.held.get_mut(id) {
            held.stamps = Stamps::only(self.counters.known);
            held.before = None;
        }
    }

    /// Whether nobody else is told anything of a file before its lease is called back.
    pub fn is_exclusive(&self, id: FileId, home: ServerId, now: Time) -> bool {
        let held = self.held.get(id);
        held.is_some_and(|held| held.is_exclusive) && self.trust(home, now) > Duration(0)
    }
}
