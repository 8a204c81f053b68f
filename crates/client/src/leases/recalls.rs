//! Leases that end early: recalled by servers, or dropped from a full cache.

use super::{Leases, PartId};
use alloc::vec::Vec;
use futago_base::ServerId;
use futago_wire::{Lease, LeaseRecall};
use serde::Serialize;

/// A lease on a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLease {
    /// The part.
    pub part: PartId,
    /// The number of the lease.
    pub number: u64,
}

impl PartLease {
    /// The lease in messages to the server of the part.
    pub const fn lease(self) -> Lease {
        Lease {
            node: self.part.node,
            number: self.number,
        }
    }
}

/// A lease to return after the reply that first granted it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Early {
    /// The number of the pending request.
    pub pending: u64,
    /// The number of the lease.
    pub number: u64,
}

impl Leases {
    /// Handles a recall of a server. Returns whether to return the lease now. If not, it was
    /// returned before, or the reply that first granted it is pending: the home must be notified of
    /// files that the reply opens.
    pub fn recalled(&mut self, server: ServerId, recall: LeaseRecall) -> bool {
        let LeaseRecall { lease, since } = recall;
        let id = PartId {
            node: lease.node,
            server,
        };
        if self.under_way.get(&since) == Some(&true) {
            let (pending, number) = (since, lease.number);
            self.early.insert(id, Early { pending, number });
            return false;
        }
        let held = self.held.get(id).map(|held| held.number);
        let newest = held.max(self.relayed_number(id));
        if newest.is_some_and(|number| number > lease.number) {
            return false;
        }
        self.end(id);
        self.end_relayed(id);
        true
    }

    /// The leases that were recalled before the reply to this request, which first granted them.
    pub fn take_early(&mut self, sequence: u64) -> Vec<PartLease> {
        let early = self.early.iter();
        let early = early.filter(|(_, early)| early.pending == sequence);
        let lease = |(&part, early): (&PartId, &Early)| PartLease {
            part,
            number: early.number,
        };
        let early: Vec<PartLease> = early.map(lease).collect();
        for lease in &early {
            self.early.remove(&lease.part);
            self.end(lease.part);
        }
        early
    }

    /// Takes the dropped leases, except those whose files a pending request may be making.
    pub fn take_dropped(&mut self) -> Vec<PartLease> {
        let makes = |(&sequence, &opens): (&u64, &bool)| opens.then_some(sequence);
        let made_before = self.under_way.iter().find_map(makes).unwrap_or(u64::MAX);
        let lease = |(&part, &number): (&PartId, &u64)| PartLease { part, number };
        let dropped = self.dropped.iter().map(lease);
        let dropped: Vec<PartLease> = dropped.filter(|it| it.number < made_before).collect();
        for lease in &dropped {
            self.dropped.remove(&lease.part);
        }
        dropped
    }
}
