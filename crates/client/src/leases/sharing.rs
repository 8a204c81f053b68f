//! Exclusive leases that become ordinary ones when another client reads the file.
//!
//! The client goes on to cache what it has written, and other clients read it from there.

use super::{Leases, PartId};
use futago_base::ServerId;
use futago_wire::LeaseRecall;
use serde::Serialize;

/// The end of an exclusive lease that has become an ordinary one.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Shared {
    /// The number of the lease that was recalled.
    number: u64,
    /// Replies to requests up to this number may still call the lease exclusive.
    pub until: u64,
}

/// The answer to a recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallAnswer {
    /// The lease ends.
    Return,
    /// The exclusive lease becomes an ordinary one.
    Share,
    /// An earlier copy of the recall is being answered, or was.
    Nothing,
}

impl Leases {
    /// The answer to a recall by a client that may share the file. [`RecallAnswer::Share`] begins
    /// the change; [`Leases::stop_writing_alone`] and [`Leases::shared`] follow.
    pub fn answer_to(&mut self, server: ServerId, recall: &LeaseRecall) -> RecallAnswer {
        let node = recall.lease.node;
        let is_early = self.under_way.contains_key(&recall.since);
        let Some(held) = self.held.get_mut(PartId { node, server }) else {
            return RecallAnswer::Return;
        };
        let number = recall.lease.number;
        match held.shared {
            Some(shared) if number <= shared.number => RecallAnswer::Nothing,
            _ if held.is_exclusive && !is_early && held.number <= number => {
                let until = u64::MAX;
                held.shared = Some(Shared { number, until });
                RecallAnswer::Share
            }
            _ => RecallAnswer::Return,
        }
    }

    /// Whether an earlier recall of the lease has been noticed.
    pub fn is_answered(&self, server: ServerId, recall: &LeaseRecall) -> bool {
        let LeaseRecall { lease, .. } = recall;
        let node = lease.node;
        let held = self.held.get(PartId { node, server });
        let is_shared = |shared: Shared| lease.number <= shared.number;
        held.is_none_or(|held| held.shared.is_some_and(is_shared))
    }

    /// The client changes the file only by requests to its home from now on.
    pub fn stop_writing_alone(&mut self, home: PartId) {
        if let Some(held) = self.held.get_mut(home) {
            held.is_exclusive = false;
        }
    }

    /// The home has made the exclusive lease an ordinary one.
    pub fn shared(&mut self, home: PartId) {
        let latest = self.counters.latest;
        if let Some(shared) = self.held.get_mut(home).and_then(|it| it.shared.as_mut()) {
            shared.until = latest;
        }
    }
}
