//! Leases that end before their time: called back by servers, or not needed any more.

use super::Leases;
use alloc::vec::Vec;
use futago_base::FileId;
use futago_wire::{Lease, LeaseRecall};
use serde::Serialize;

/// A lease that is given back after the answer with which it came first.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Early {
    /// The number of the request that is answered.
    pub awaited: u64,
    /// The number of the lease.
    pub number: u64,
}

impl Leases {
    /// A server calls a lease back. Returns whether it is to be given back; otherwise that has been done before, or the
    /// answer is awaited with which it was given first: its home must hear what that opens.
    pub fn recalled(&mut self, LeaseRecall { lease, since }: LeaseRecall) -> bool {
        let id = lease.node;
        if self.under_way.get(&since) == Some(&true) {
            let (awaited, number) = (since, lease.number);
            self.early.insert(id, Early { awaited, number });
            return false;
        }
        if self
            .held
            .get(id)
            .is_some_and(|held| held.number > lease.number)
        {
            return false;
        }
        self.end(id);
        true
    }

    /// The leases that were called back before the answer to a request came, with which they were given first.
    pub fn take_early(&mut self, sequence: u64) -> Vec<Lease> {
        let early = self.early.iter();
        let early = early.filter(|(_, early)| early.awaited == sequence);
        let lease = |(&node, early): (&FileId, &Early)| Lease {
            node,
            number: early.number,
        };
        let early: Vec<Lease> = early.map(lease).collect();
        for lease in &early {
            self.early.remove(&lease.node);
            self.end(lease.node);
        }
        early
    }

    /// Takes the leases that are not needed any more, without those whose files may be made by requests that have not been
    /// answered.
    pub fn take_dropped(&mut self) -> Vec<Lease> {
        let makes = |(&sequence, &opens): (&u64, &bool)| opens.then_some(sequence);
        let made_before = self.under_way.iter().find_map(makes).unwrap_or(u64::MAX);
        let lease = |(&node, &number): (&FileId, &u64)| Lease { node, number };
        let dropped = self.dropped.iter().map(lease);
        let dropped: Vec<Lease> = dropped.filter(|it| it.number < made_before).collect();
        for lease in &dropped {
            self.dropped.remove(&lease.node);
        }
        dropped
    }
}
