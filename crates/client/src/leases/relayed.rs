//! Facts that the contact server relays, under leases that it recalls.
//!
//! The lease of a home that covers such a fact is the contact server's. So it ends earlier than a
//! lease of this client: each fact has a time of its own. A home learns of the client's opens under
//! such a lease at the next keep-alive, because it gives up the leases of a dead contact server
//! without asking its clients.

use super::{Leases, PartId, Subject};
use alloc::vec::Vec;
use futago_base::{Duration, FileId, Name, NameHash, ServerId, Time, record::Entry};
use futago_wire::{FileState, Question, Relayed, RelayedFact};
use serde::Serialize;

/// A relayed lease.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct RelayedNode {
    /// The largest number of a request that brought it.
    pub number: u64,
    /// The state of the node, if it is known.
    state: Option<Valid<FileState>>,
}

/// A fact and the end of its validity.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Valid<T> {
    fact: T,
    until: Time,
}

impl<T: Copy> Valid<T> {
    fn at(&self, now: Time) -> Option<T> {
        (now < self.until).then_some(self.fact)
    }
}

/// A relayed name.
pub(super) type RelayedName = (FileId, NameHash, Name);

impl Leases {
    /// Notes a fact in the reply of the contact server to the request `sequence`, which was sent at
    /// `sent`.
    pub fn note_relayed(
        &mut self,
        sequence: u64,
        question: &Question,
        relayed: &Relayed,
        sent: Time,
    ) {
        let until = sent + relayed.lasts;
        match (question, &relayed.fact) {
            (Question::Entry(at), RelayedFact::Entry { entry, state }) => {
                if let Some(state) = state {
                    self.note_relayed_state(sequence, *state, until);
                }
                if self.hold_relayed(sequence, at.directory).is_some() {
                    let key = (at.directory, at.name.hash(), at.name.clone());
                    self.cache_relayed_name(
                        key,
                        Valid {
                            fact: *entry,
                            until,
                        },
                    );
                }
            }
            (Question::State(_), RelayedFact::State(state)) => {
                self.note_relayed_state(sequence, *state, until);
            }
            _ => {}
        }
    }

    fn note_relayed_state(&mut self, sequence: u64, state: FileState, until: Time) {
        if let Some(held) = self.hold_relayed(sequence, state.attributes.id) {
            held.state = Some(Valid { fact: state, until });
        }
    }

    fn cache_relayed_name(&mut self, key: RelayedName, name: Valid<Option<Entry>>) {
        if self.relayed_names.len() >= self.names_max {
            self.relayed_names.pop_first();
        }
        self.relayed_names.insert(key, name);
    }

    /// Takes a relayed lease, unless it was recalled while the reply was under way. The contact
    /// server recalls the leases of forgotten nodes all the same.
    fn hold_relayed(&mut self, sequence: u64, node: FileId) -> Option<&mut RelayedNode> {
        let server = self.contact?;
        if !self.is_current(sequence, &Subject::Lease(PartId { node, server })) {
            return None;
        }
        if self.relayed.len() >= self.relayed_max
            && let Some((oldest, _)) = self.relayed.pop_first()
        {
            self.forget_relayed_names(oldest);
        }
        let new = || RelayedNode {
            number: sequence,
            state: None,
        };
        let held = self.relayed.get_or_insert_with(node, new);
        held.number = held.number.max(sequence);
        Some(held)
    }

    /// The state of a node, if it is relayed.
    pub fn relayed_state(&self, id: FileId, now: Time) -> Option<FileState> {
        self.relayed.get(&id)?.state?.at(now)
    }

    /// The entry of a name, if it is relayed.
    pub fn relayed_name(&self, directory: FileId, name: &Name, now: Time) -> Option<Option<Entry>> {
        let key = (directory, name.hash(), name.clone());
        self.relayed_names.get(&key)?.at(now)
    }

    /// The state of a file that can be opened under a relayed lease: it lasts beyond the next
    /// keep-alive, with which the home learns of the open.
    pub(super) fn relayed_state_for_open(&self, id: FileId, now: Time) -> Option<FileState> {
        let half = Duration(self.trust.0 / 2);
        self.relayed_state(id, now + half)
    }

    /// The files that are open here, not registered at their homes, and covered by no lease of
    /// their homes. `home` tells the home part of a file.
    pub fn opens_without_lease(&self, home: impl Fn(FileId) -> PartId) -> Vec<FileId> {
        let opens = self.opens.iter().map(|(id, _)| *id);
        opens
            .filter(|id| self.held.get(home(*id)).is_none())
            .collect()
    }

    /// The number of the relayed lease on a node, if there is one.
    pub(super) fn relayed_number(&self, id: PartId) -> Option<u64> {
        let held = self.relayed.get(&id.node)?;
        (self.contact == Some(id.server)).then_some(held.number)
    }

    /// Ends the relayed lease on a node.
    pub(super) fn end_relayed(&mut self, id: PartId) {
        if self.contact == Some(id.server) && self.relayed.remove(&id.node).is_some() {
            self.forget_relayed_names(id.node);
        }
    }

    fn forget_relayed_names(&mut self, directory: FileId) {
        let first = (directory, NameHash(0), Name::least());
        let names = self.relayed_names.range(first..);
        let names: Vec<RelayedName> = names
            .map(|(key, _)| key)
            .take_while(|(at, ..)| *at == directory)
            .cloned()
            .collect();
        for key in names {
            self.relayed_names.remove(&key);
        }
    }

    /// The contact server, unless it has left a request unanswered lately.
    pub fn contact(&self, now: Time) -> Option<ServerId> {
        self.contact
            .filter(|_| self.counters.contact_rests_until <= now)
    }

    /// The contact server has not answered a request: the client asks homes until then.
    pub fn rest_contact(&mut self, sequence: u64, until: Time) {
        self.under_way.remove(&sequence);
        self.counters.contact_rests_until = until;
    }
}
