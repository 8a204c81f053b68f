//! Transactions on a server: locators on the reserved records, and the status of those that are
//! decided here.
//!
//! A dead client never blocks others. A request that meets a locator asks for the status, and
//! aborts the transaction after the grace time. The grace time matters for liveness only; safety
//! rests on the single change of the status record.

use crate::Output;
use crate::builder::DecisionBuilder;
use crate::completion::{Checked, Refusal};
use alloc::vec::Vec;
use futago_base::{
    FileId, Key, ServerId, Time, TransactionId, Value, View,
    record::{Participant, Target, TransactionState, TransactionStatus},
};
use futago_wire::{Peer, PeerChange, Step, codec};

/// How many transactions a decision has begun and decided. Each transaction is counted by the
/// server of its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionCounts {
    /// Transactions whose status was created.
    pub begun: u32,
    /// Transactions that were committed.
    pub committed: u32,
    /// Transactions that were aborted.
    pub aborted: u32,
    /// Requests that wait because a transaction has reserved a record here.
    pub conflicts: u32,
}

impl TransactionCounts {
    pub(crate) const fn add(&mut self, later: Self) {
        self.begun += later.begun;
        self.committed += later.committed;
        self.aborted += later.aborted;
        self.conflicts += later.conflicts;
    }
}

/// A step together with the file id that was assigned for it.
pub type PreparedStep = (Step, Option<FileId>);

impl<V: View> DecisionBuilder<'_, V> {
    /// Checks that no transaction has reserved the target. Errors: `Conflict`.
    pub fn unreserved(&self, target: Target) -> Checked<()> {
        match self
            .state
            .get(&Key::Locator(target))
            .and_then(Value::locator)
        {
            Some(transaction) => Err(Refusal::Conflict(*transaction)),
            None => Ok(()),
        }
    }

    /// Reserves a target.
    pub fn reserve(&mut self, transaction: TransactionId, target: Target) {
        self.count_pending(&target, 1);
        self.state.put(Key::Locator(target), transaction);
    }

    /// The state of a transaction, for another server. With `abort`, an undecided transaction is
    /// aborted now.
    pub fn transaction_state(&mut self, id: TransactionId, abort: bool) -> TransactionState {
        if abort {
            return self.decide_transaction(id, false);
        }
        self.status(id)
            .map_or(TransactionState::Aborted, |status| status.state)
    }

    fn status(&self, id: TransactionId) -> Option<&TransactionStatus> {
        self.state
            .get(&Key::TransactionStatus(id))
            .and_then(Value::transaction_status)
    }

    fn participant(&self, id: TransactionId) -> Option<&Participant> {
        self.state
            .get(&Key::Participant(id))
            .and_then(Value::participant)
    }

    /// Begins a transaction whose status is on this server.
    pub fn begin_transaction(&mut self, id: TransactionId, participants: Vec<ServerId>) {
        let state = TransactionState::Active;
        let status = TransactionStatus {
            state,
            began: self.now,
            participants,
            unresolved: 0,
        };
        self.state.put(Key::TransactionStatus(id), status);
        self.effects.transactions.begun += 1;
    }

    /// Decides an undecided transaction and notifies the participants. An unknown transaction is
    /// aborted, because a status is deleted only when every participant has resolved it.
    pub fn decide_transaction(&mut self, id: TransactionId, commit: bool) -> TransactionState {
        let Some(mut status) = self.status(id).cloned() else {
            return TransactionState::Aborted;
        };
        if status.state != TransactionState::Active {
            return status.state;
        }
        if commit {
            status.state = TransactionState::Committed;
            self.effects.transactions.committed += 1;
        } else {
            status.state = TransactionState::Aborted;
            self.effects.transactions.aborted += 1;
        }
        let state = status.state;
        let others: Vec<ServerId> = status
            .participants
            .iter()
            .copied()
            .filter(|&id| id != self.server.id())
            .collect();
        status.unresolved = others.len() as u32;
        if others.is_empty() {
            self.state.delete(Key::TransactionStatus(id));
        } else {
            self.state.put(Key::TransactionStatus(id), status);
        }
        self.resolve(id, commit);
        for other in others {
            self.send(
                other,
                PeerChange::Resolve {
                    transaction: id,
                    committed: commit,
                },
            );
        }
        state
    }

    /// A participant has resolved the transaction.
    pub fn settle_transaction(&mut self, id: TransactionId) {
        let Some(mut status) = self.status(id).cloned() else {
            return;
        };
        status.unresolved = status.unresolved.saturating_sub(1);
        if status.unresolved == 0 {
            self.state.delete(Key::TransactionStatus(id));
        } else {
            self.state.put(Key::TransactionStatus(id), status);
        }
    }

    /// Removes the locators, and makes the changes if the transaction has committed.
    pub fn resolve(&mut self, id: TransactionId, committed: bool) {
        let Some(participant) = self.participant(id).cloned() else {
            return;
        };
        self.state.delete(Key::Participant(id));
        for target in &participant.targets {
            self.count_pending(target, -1);
            self.state.delete(Key::Locator(target.clone()));
        }
        let steps: Vec<PreparedStep> = codec::restore(&participant.steps);
        if committed {
            for (step, drawn) in steps {
                self.install(step, drawn);
            }
        }
        for target in participant.targets {
            if let Target::Inode(file) = target {
                self.remove_if_unused(file);
            }
        }
        self.unblock_after(id);
    }

    /// Gets a transaction decided that has reserved a record here. If it is younger than the
    /// transaction `other`, which wants the same record, it is aborted at once. Otherwise it is
    /// aborted after the grace time. Of two transactions of the same age, the one with the greater
    /// id is the younger, so that they never wait for each other.
    pub fn expedite(&mut self, id: TransactionId, other: Option<(Time, TransactionId)>) {
        let Some(participant) = self.participant(id).cloned() else {
            return self.unblock_after(id);
        };
        let overdue = self.now.since(participant.since) > self.server.config().grace;
        let abort = overdue || other.is_some_and(|other| other < (participant.age, id));
        if participant.status_server == self.server.id() {
            self.expedite_here(id, abort);
        } else {
            self.ask(id, participant, abort);
        }
    }

    fn expedite_here(&mut self, id: TransactionId, abort: bool) {
        match self.transaction_state(id, abort) {
            TransactionState::Active => {}
            state => self.resolve(id, state == TransactionState::Committed),
        }
    }

    fn ask(&mut self, id: TransactionId, participant: Participant, abort: bool) {
        let recently = participant
            .asked
            .is_some_and(|at| self.now.since(at) < self.server.config().resend);
        if recently && !abort {
            return;
        }
        let message = Peer::Ask {
            sender: self.server.id(),
            transaction: id,
            abort,
        };
        self.output(Output::Peer {
            to: participant.status_server,
            message,
        });
        let asked = Some(self.now);
        self.state.put(
            Key::Participant(id),
            Participant {
                asked,
                ..participant
            },
        );
    }

    /// Counts the locators of the entries of a bucket in its header.
    fn count_pending(&mut self, target: &Target, change: i32) {
        let Target::Entry(directory, hash, _) = target else {
            return;
        };
        if let Some((bucket, mut header)) = self.bucket_of_hash(*directory, *hash) {
            header.pending = header.pending.saturating_add_signed(change);
            self.state.put(Key::Header(*directory, bucket), header);
        }
    }
}
