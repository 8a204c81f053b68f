//! The validity of cached file data.

use super::{Held, Leases, PartId};
use futago_base::{Duration, Time};
use futago_wire::Part;
use serde::Serialize;

/// The valid data versions of a file. A version is a period in which no client changes the data.
/// Data that was cached with one of these versions is still valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataVersions {
    /// The first valid version.
    first: u64,
    /// The present version.
    pub now: u64,
}

impl DataVersions {
    /// Only data that is cached from now on is valid.
    pub(super) const fn only(now: u64) -> Self {
        Self { first: now, now }
    }

    /// Whether data with this version is valid.
    pub const fn cover(self, version: u64) -> bool {
        self.first <= version
    }

    /// Extends the validity to data that was cached before a change.
    const fn extend_to(&mut self, before: Self) {
        self.first = before.first;
    }
}

/// The versions of the data of a file before overlapping changes of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Before {
    pub versions: DataVersions,
    /// How many such changes have begun.
    pub changes: usize,
}

impl Held {
    /// The client is about to change the node, alone or in parallel with other changes of its own.
    pub(super) fn begin_change(&mut self, is_alone: bool) {
        let known = self.state.take().map(|_| self.versions);
        if is_alone {
            self.before = known.map(|versions| Before {
                versions,
                changes: 0,
            });
        }
        if let Some(before) = &mut self.before {
            before.changes += 1;
        }
    }
}

impl Leases {
    /// The versions of valid cached data of a file under a lease of its `home`: while they stay,
    /// the data stays. `None` if no lease covers the data now.
    pub fn data_versions(&self, home: PartId, now: Time) -> Option<DataVersions> {
        let state = self.state(home, now)?;
        let held = self.held.get(home)?;
        state.data_leased.then_some(held.versions)
    }

    /// Adds the amount of data to the state of a file whose data is leased. Until the data changes,
    /// the state stays known.
    pub fn note_data_sum(&mut self, home: PartId, bytes: u64) {
        if let Some(held) = self.held.get_mut(home)
            && let Some(Part::Home(state)) = &mut held.state
            && state.data_leased
        {
            state.attributes.allocated_bytes = Some(bytes);
        }
    }

    /// Notes a read of the data of a file. Returns whether a lease that covers the data is worth a
    /// request. It is if the present lease does not cover the data, and the data was read before
    /// and has not been changed by this client since.
    pub fn reads(&mut self, home: PartId) -> bool {
        let Some(held) = self.held.get_mut(home) else {
            return false;
        };
        let is_again = core::mem::replace(&mut held.is_read, true);
        is_again && matches!(held.state, Some(Part::Home(state)) if !state.data_leased)
    }

    /// Keeps cached data valid after changes of this client. The changes have not touched the data
    /// that remains cached. The data stays valid if no other change has occurred since; `before` is
    /// what the caller knows of their start and number. Returns the valid versions on success.
    pub fn extend_data_validity(&mut self, home: PartId, before: Before) -> Option<DataVersions> {
        let held = self.held.get_mut(home)?;
        let then = held.before.take()?;
        if held.state.is_none() || before != then {
            return None;
        }
        held.versions.extend_to(then.versions);
        Some(held.versions)
    }

    /// Another change may have occurred since the change of this client.
    pub(super) fn forget_data_before(&mut self, part: PartId) {
        if let Some(held) = self.held.get_mut(part) {
            held.before = None;
        }
    }

    /// The client has changed chunks of a file beside the home. `before` are the versions before
    /// that change, if the client caches what it has written. Others may have changed chunks, too,
    /// unless the lease is exclusive.
    pub fn data_changed(&mut self, home: PartId, before: Option<DataVersions>) {
        self.counters.known += 1;
        if let Some(held) = self.held.get_mut(home) {
            held.versions = DataVersions::only(self.counters.known);
            let is_own = |then: &mut Before| Some(then.versions) == before;
            held.before.take_if(|then| !is_own(then));
            if !held.is_exclusive {
                held.before = None;
            }
        }
    }

    /// A change of this client has left the data as it was. Under an exclusive lease the version
    /// stays, too, so that a write knows that it is the only change since.
    pub(super) fn restore_data_versions(&mut self, home: PartId) {
        if let Some(held) = self.held.get_mut(home)
            && let Some(then) = held.before.take()
        {
            if held.is_exclusive {
                held.versions = then.versions;
            } else {
                held.versions.extend_to(then.versions);
            }
        }
    }

    /// Whether the home recalls the lease before it discloses the state of the file to any other
    /// client.
    pub fn is_exclusive(&self, home: PartId, now: Time) -> bool {
        let held = self.held.get(home);
        held.is_some_and(|held| held.is_exclusive) && self.trust(home.server, now) > Duration(0)
    }
}
