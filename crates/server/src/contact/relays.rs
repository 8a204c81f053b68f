//! The leases that a contact server holds at homes, and what it knows under them.

use crate::builder::DecisionBuilder;
use alloc::{vec, vec::Vec};
use bytes::Bytes;
use futago_base::{
    FileId, Key, ServerId, SessionId, Value, View,
    record::{Relay, RelayedEntry, Sort},
};
use futago_wire::{
    ContactMessage, FileState, Lease, LeaseRecall, Question, Relayed, RelayedFact, Spot, codec,
};

impl<V: View> DecisionBuilder<'_, V> {
    /// The answer to a question, if it is known under valid leases.
    pub(super) fn known_fact(&self, question: &Question, home: ServerId) -> Option<RelayedFact> {
        if self.trust(home).0 == 0 {
            return None;
        }
        match question {
            Question::State(id) => self.relayed_state(*id, home).map(RelayedFact::State),
            Question::Entry(at) => {
                self.living_relay(at.directory, home)?;
                let known = self
                    .state
                    .get(&entry_key(at))
                    .and_then(Value::relayed_entry);
                let entry = known.filter(|known| known.home == home)?.entry;
                let state = entry.and_then(|entry| self.relayed_state(entry.id, home));
                Some(RelayedFact::Entry { entry, state })
            }
        }
    }

    fn relayed_state(&self, id: FileId, home: ServerId) -> Option<FileState> {
        let relay = self.living_relay(id, home)?;
        (!relay.state.is_empty()).then(|| codec::restore(&relay.state))
    }

    fn living_relay(&self, node: FileId, home: ServerId) -> Option<&Relay> {
        let relay = self.state.get(&Key::Relay(node, home))?.relay();
        relay.filter(|relay| !relay.is_ending)
    }

    /// Relays a fact with leases to the requesting client. `None` if a lease cannot be granted now.
    pub(super) fn relay(
        &mut self,
        fact: RelayedFact,
        node: FileId,
        home: ServerId,
    ) -> Option<Relayed> {
        if !self.grant_relayed(node, home) {
            return None;
        }
        let fact = match fact {
            RelayedFact::Entry { entry, state } => {
                let grants = |state: &FileState| self.grant_relayed(state.attributes.id, home);
                let state = state.filter(grants);
                RelayedFact::Entry { entry, state }
            }
            state @ RelayedFact::State(_) => state,
        };
        let lasts = self.trust(home);
        Some(Relayed { fact, lasts })
    }

    fn grant_relayed(&mut self, node: FileId, home: ServerId) -> bool {
        let is_granted = self.may_have_lease(node) && self.put_lease(node);
        if is_granted {
            self.note_use(node, home);
        }
        is_granted
    }

    fn note_use(&mut self, node: FileId, home: ServerId) {
        let (now, step) = (self.now, self.server.config().lease.0 / 8);
        let key = Key::Relay(node, home);
        let known = self.state.get(&key).and_then(Value::relay);
        if let Some(relay) = known
            .filter(|relay| now.since(relay.used).0 > step)
            .cloned()
        {
            self.state.put(key, Relay { used: now, ..relay });
        }
    }

    /// Notes what a home has granted. Returns whether it answers the question.
    pub(super) fn note_granted(
        &mut self,
        question: &Question,
        home: ServerId,
        number: u64,
        fact: &RelayedFact,
    ) -> bool {
        match (question, fact) {
            (Question::Entry(at), RelayedFact::Entry { entry, state }) => {
                if let Some(state) = state {
                    self.put_relay(state.attributes.id, home, number, codec::encode(state));
                }
                let is_held = self.put_relay(at.directory, home, number, Bytes::new());
                if is_held {
                    self.put_relayed_entry(
                        at,
                        RelayedEntry {
                            home,
                            entry: *entry,
                        },
                    );
                }
                is_held
            }
            (Question::State(id), RelayedFact::State(state)) => {
                self.put_relay(*id, home, number, codec::encode(state))
            }
            _ => false,
        }
    }

    /// Puts a lease, or renews it. Returns whether it may be relayed.
    fn put_relay(&mut self, node: FileId, home: ServerId, number: u64, state: Bytes) -> bool {
        let key = Key::Relay(node, home);
        let known = self.state.get(&key).and_then(Value::relay).cloned();
        if known.is_none() {
            self.change_link(home, |link| link.facts += 1);
        }
        let used = self.now;
        let mut relay = known.unwrap_or(Relay {
            number,
            state: Bytes::new(),
            used,
            is_ending: false,
        });
        relay.number = relay.number.max(number);
        if !relay.is_ending && !state.is_empty() {
            relay.state = state;
        }
        let is_held = !relay.is_ending;
        self.state.put(key, relay);
        is_held
    }

    fn put_relayed_entry(&mut self, at: &Spot, entry: RelayedEntry) {
        let key = entry_key(at);
        if self.state.get(&key).is_none() {
            self.change_link(entry.home, |link| link.facts += 1);
        }
        self.state.put(key, entry);
    }

    /// A home recalls leases.
    pub fn receive_recalls(&mut self, home: ServerId, session: SessionId, recalls: &[LeaseRecall]) {
        if self.link(home).is_none_or(|link| link.session != session) {
            return;
        }
        for recall in recalls {
            self.recalled(home, recall.lease);
        }
        let last = recalls.iter().map(|recall| recall.lease.number).max();
        self.give_up_questions(home, last.unwrap_or_default());
    }

    /// A home recalls a lease. The reply that brought it may have been lost.
    fn recalled(&mut self, home: ServerId, lease: Lease) {
        let key = Key::Relay(lease.node, home);
        match self.state.get(&key).and_then(Value::relay).cloned() {
            Some(relay) if relay.number > lease.number => {}
            Some(relay) => {
                let number = lease.number;
                self.state.put(key, Relay { number, ..relay });
                self.end_relay(lease.node, home);
            }
            None => self.give_back(home, lease),
        }
    }

    /// Ends a relay: what is known under it is forgotten. The lease is returned when no client
    /// relies on it any more.
    pub(super) fn end_relay(&mut self, node: FileId, home: ServerId) {
        let key = Key::Relay(node, home);
        let Some(relay) = self.state.get(&key).and_then(Value::relay).cloned() else {
            return;
        };
        self.forget_entries(node, home);
        let ending = Relay {
            state: Bytes::new(),
            is_ending: true,
            ..relay
        };
        self.state.put(key, ending);
        if self.holders(node).is_empty() {
            self.return_relay(node, home);
        } else {
            self.recall(node, None);
        }
    }

    fn forget_entries(&mut self, directory: FileId, home: ServerId) {
        let (from, to) = Key::relayed_entries(directory);
        let is_of_home = |value: &Value| {
            value
                .relayed_entry()
                .is_some_and(|entry| entry.home == home)
        };
        let entries = self.state.range(from, to);
        let entries = entries.filter(|(_, value)| is_of_home(value));
        let keys: Vec<Key> = entries.map(|(key, _)| key.clone()).collect();
        self.change_link(home, |link| {
            link.facts = link.facts.saturating_sub(keys.len() as u32)
        });
        for key in keys {
            self.state.delete(key);
        }
    }

    /// Returns the leases on a node whose relays end, once no client holds a relayed lease.
    pub fn return_ending_relays(&mut self, node: FileId) {
        if !self.state.may_have(Sort::Relay) || !self.holders(node).is_empty() {
            return;
        }
        let (from, to) = Key::relays(node);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Relay(_, home) if value.relay()?.is_ending => Some(*home),
            _ => None,
        };
        let homes: Vec<ServerId> = self.state.range(from, to).filter_map(of).collect();
        for home in homes {
            self.return_relay(node, home);
        }
    }

    fn return_relay(&mut self, node: FileId, home: ServerId) {
        let key = Key::Relay(node, home);
        let Some(number) = self
            .state
            .get(&key)
            .and_then(Value::relay)
            .map(|it| it.number)
        else {
            return;
        };
        self.state.delete(key);
        self.change_link(home, |link| link.facts = link.facts.saturating_sub(1));
        self.give_back(home, Lease { node, number });
        self.renew_link(home);
    }

    fn give_back(&mut self, home: ServerId, lease: Lease) {
        self.send_to_home(home, ContactMessage::GiveBack(vec![lease]));
    }

    /// The nodes on which a home has granted leases.
    pub(super) fn nodes_relayed_from(&self, home: ServerId) -> Vec<FileId> {
        let (from, to) = Key::whole_sort(Sort::Relay);
        let of = |key: &Key| match key {
            Key::Relay(node, of) if *of == home => Some(*node),
            _ => None,
        };
        let relays = self.state.range(from, to);
        relays.filter_map(|(key, _)| of(key)).collect()
    }

    /// Returns the leases that no client has used for a lease.
    pub(super) fn return_unused(&mut self, home: ServerId) {
        let lease = self.server.config().lease;
        for node in self.nodes_relayed_from(home) {
            let relay = self
                .state
                .get(&Key::Relay(node, home))
                .and_then(Value::relay);
            let is_unused = relay.is_some_and(|relay| self.now.since(relay.used) > lease);
            if is_unused && self.holders(node).is_empty() {
                self.end_relay(node, home);
            }
        }
    }

    /// Whether this server relays leases on a node.
    pub fn is_relayed(&self, node: FileId) -> bool {
        self.state.may_have(Sort::Relay) && self.is_any(Key::relays(node))
    }
}

fn entry_key(at: &Spot) -> Key {
    Key::RelayedEntry(at.directory, at.name.hash(), at.name.clone())
}
