//! Parts of nodes: what one server has of a node, and grants a lease on.
//!
//! The home of a node has its attributes. The buckets of a directory are on several servers, each
//! of which grants a lease on its own buckets. So a directory is known as a whole while the client
//! holds leases on all its parts. A bucket does not move while its part is leased, so parts whose
//! buckets cover all hashes are all parts.

use super::Leases;
use crate::operations::attributes::folded;
use futago_base::{BucketStart, Duration, FileId, ServerId, Time, Timestamp, record::HeaderSum};
use futago_wire::{FileState, Part};
use serde::Serialize;

/// A part of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PartId {
    /// The file or directory.
    pub node: FileId,
    /// The server that has the part.
    pub server: ServerId,
}

/// The buckets of a directory in a part.
pub const fn buckets(part: &Part) -> Option<HeaderSum> {
    match part {
        Part::Home(FileState {
            directory: Some(directory),
            ..
        }) => Some(directory.here),
        Part::Home(_) => None,
        Part::Buckets(buckets) => Some(buckets.sum),
    }
}

/// The time of the last change of a part.
pub const fn changed(part: &Part) -> Timestamp {
    match part {
        Part::Home(state) => state.attributes.changed,
        Part::Buckets(buckets) => buckets.sum.modified,
    }
}

/// The identity of a part in a reply of `server`.
pub const fn id_of(part: &Part, server: ServerId) -> PartId {
    let node = match part {
        Part::Home(state) => state.attributes.id,
        Part::Buckets(buckets) => buckets.directory,
    };
    PartId { node, server }
}

/// Whether a reply grants a lease on a part.
pub const fn is_leased(part: &Part) -> bool {
    match part {
        Part::Home(state) => state.leased,
        Part::Buckets(buckets) => buckets.leased,
    }
}

/// The hashes of a node without buckets: its home has all of it.
const WHOLE: u64 = BucketStart::width(0);

impl Leases {
    /// The parts of a node on which there are leases.
    pub(super) fn parts_of(&self, node: FileId) -> impl Iterator<Item = PartId> {
        let server = ServerId(0);
        let from = self.held.from(PartId { node, server });
        from.map(|(part, _)| *part)
            .take_while(move |part| part.node == node)
    }

    /// The state of a node, if it is known as a whole, and for how long: with the sum of all its
    /// buckets if it is a directory.
    pub fn whole_state(&self, home: PartId, now: Time) -> Option<(FileState, Duration)> {
        let state = self.state(home, now)?;
        let trust = self.trust(home.server, now);
        if state.directory.is_none_or(|it| it.here.is_whole()) {
            return Some((state, trust));
        }
        let mut sum = HeaderSum::default();
        let mut shortest = trust;
        for part in self.parts_of(home.node) {
            sum.join(&self.buckets(part, now)?);
            shortest = shortest.min(self.trust(part.server, now));
        }
        sum.is_whole().then(|| (folded(state, &sum), shortest))
    }

    /// The lease epoch of a node: the unique id of this holding of the leases on all its parts. A
    /// part that was leased anew has a larger number than all others. `None` unless all are leased.
    pub fn epoch(&self, home: PartId, now: Time) -> Option<u64> {
        let mut epoch = self.held.get(home)?.epoch;
        let mut all = HeaderSum::default();
        for part in self.parts_of(home.node) {
            let held = self.held.get(part)?;
            if self.trust(part.server, now) == Duration(0) {
                return None;
            }
            epoch = epoch.max(held.epoch);
            all.hashes = all.hashes.saturating_add(held.hashes.unwrap_or(WHOLE));
        }
        all.is_whole().then_some(epoch)
    }

    /// The sum of the buckets of a directory on one server, if it is known.
    pub fn buckets(&self, part: PartId, now: Time) -> Option<HeaderSum> {
        let known = self.held.get(part)?.state.as_ref().and_then(buckets);
        known.filter(|_| self.trust(part.server, now) > Duration(0))
    }
}
