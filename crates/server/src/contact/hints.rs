//! Hints: what clients have asked recently. They decide which questions are worth a lease.
//!
//! There is a fixed number of slots, and a question has one of them. So a million files that are
//! each opened once take no more memory than a few.

use crate::builder::DecisionBuilder;
use futago_base::{
    Key, ServerId, Value, View,
    record::{Hint, HintState},
};
use futago_wire::{Question, codec};

/// The number of slots.
const SLOTS: u64 = 1024;

impl<V: View> DecisionBuilder<'_, V> {
    /// Whether the home is asked a question: from the second client that asks it on.
    pub(super) fn asks_home(&mut self, question: &Question, home: ServerId) -> bool {
        let hash = hash_of(question);
        match self.hint(hash).filter(|hint| self.is_fresh(hint)) {
            Some(hint) if hint.hash != hash => {
                let is_free = hint.state != HintState::Pending;
                if is_free {
                    self.put_hint(hash, HintState::Asked);
                }
                false
            }
            None => {
                self.put_hint(hash, HintState::Asked);
                false
            }
            Some(hint) => match hint.state {
                HintState::Pending => true,
                HintState::Asked if hint.by == self.request.session => false,
                HintState::Asked => self.begin_asking(question, home),
                HintState::Refused => {
                    self.is_pause_over(&hint) && self.begin_asking(question, home)
                }
            },
        }
    }

    /// Asks the home. Returns whether the request may wait for the reply.
    fn begin_asking(&mut self, question: &Question, home: ServerId) -> bool {
        let is_sent = self.send_question(question, home);
        if is_sent {
            self.put_hint(hash_of(question), HintState::Pending);
        }
        is_sent
    }

    fn hint(&self, hash: u64) -> Option<Hint> {
        let hint = self.state.get(&slot(hash)).and_then(Value::hint);
        hint.copied()
    }

    /// A hint is forgotten after a lease.
    fn is_fresh(&self, hint: &Hint) -> bool {
        self.now.since(hint.since) < self.server.config().lease
    }

    /// Whether a home may grant a lease after it has refused: see [`Config::lease_pause`].
    ///
    /// [`Config::lease_pause`]: crate::Config::lease_pause
    fn is_pause_over(&self, hint: &Hint) -> bool {
        self.now.since(hint.since) > self.server.config().lease_pause
    }

    fn put_hint(&mut self, hash: u64, state: HintState) {
        let (by, since) = (self.request.session, self.now);
        let hint = Hint {
            hash,
            by,
            since,
            state,
        };
        self.state.put(slot(hash), hint);
    }

    /// A question is settled: it was answered, or the home has refused. The requests that wait for
    /// it run again.
    pub(super) fn settle_question(&mut self, question: &Question, is_granted: bool) {
        let hash = hash_of(question);
        if self.hint(hash).is_some_and(|hint| hint.hash == hash) {
            if is_granted {
                self.state.delete(slot(hash));
            } else {
                self.put_hint(hash, HintState::Refused);
            }
        }
        self.effects.unblocked_nodes.push(question.node());
    }
}

fn hash_of(question: &Question) -> u64 {
    Hint::hash_of(&codec::encode(question))
}

const fn slot(hash: u64) -> Key {
    Key::Hint((hash % SLOTS) as u16)
}
