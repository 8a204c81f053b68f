//! Transactions as a server sees them: locators on what it holds, and the status of those that are
//! decided here.
//!
//! Nobody is ever blocked by a client that died: whoever meets a locator asks for the status, and
//! after the grace time has it aborted. The grace time is about liveness only; safety rests on the
//! one change of the status record.

use crate::Output;
use crate::answer::{Checked, Refusal};
use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    FileId, Key, ServerId, Time, TransactionId, Value, View,
    record::{Participant, Target, TransactionState, TransactionStatus},
};
use futago_wire::{Peer, PeerChange, Step, codec};

/// What became of transactions in a decision, for whoever adds it up. Each transaction is counted
/// by the server that keeps its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionCounts {
    /// Those whose status was made.
    pub begun: u32,
    /// Those that were decided to take effect.
    pub committed: u32,
    /// Those that were decided to take none.
    pub aborted: u32,
    /// Requests that met what a transaction has reserved here, and wait for it.
    pub conflicts: u32,
}

/// A step together with the identity that was drawn for it.
pub type PreparedStep = (Step, Option<FileId>);

impl<V: View> Turn<'_, V> {
    /// Fails if a transaction has reserved the target.
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

    /// Where a transaction stands, for another server. With `abort`, it is decided now.
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

    /// Begins a transaction whose status is kept here.
    pub fn begin_transaction(&mut self, id: TransactionId, participants: Vec<ServerId>) {
        let state = TransactionState::Active;
        let status = TransactionStatus {
            state,
            began: self.now,
            participants,
            unresolved: 0,
        };
        self.state.put(Key::TransactionStatus(id), status);
        self.transactions.begun += 1;
    }

    /// Decides a transaction, unless it is decided already, and tells the participants. Unknown
    /// means aborted: a status is deleted only when every participant has resolved it.
    pub fn decide_transaction(&mut self, id: TransactionId, commit: bool) -> TransactionState {
        let Some(mut status) = self.status(id).cloned() else {
            return TransactionState::Aborted;
        };
        if status.state != TransactionState::Active {
            return status.state;
        }
        if commit {
            status.state = TransactionState::Committed;
            self.transactions.committed += 1;
        } else {
            status.state = TransactionState::Aborted;
            self.transactions.aborted += 1;
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

    /// Takes the locators away and makes the changes if the transaction has committed.
    pub fn resolve(&mut self, id: TransactionId, committed: bool) {
        let Some(participant) = self.participant(id).cloned() else {
            return;
        };
        self.state.delete(Key::Participant(id));
        for target in &participant.targets {
            self.count_pending(target, -1);
            self.state.delete(Key::Locator(target.clone()));
        }
        let steps: Vec<PreparedStep> = codec::decode(&participant.steps).unwrap_or_default();
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
        self.unpark_after(id);
    }

    /// Sees to it that a transaction which has reserved something here gets decided: at once if it
    /// is younger than `other`, by its age, that wants the same, else after the grace time. Of two of one age,
    /// the greater identity is the younger: or each of them might wait for the other.
    pub fn press(&mut self, id: TransactionId, other: Option<(Time, TransactionId)>) {
        let Some(participant) = self.participant(id).cloned() else {
            return self.unpark_after(id);
        };
        let overdue = self.now.since(participant.since) > self.server.config().grace;
        let abort = overdue || other.is_some_and(|other| other < (participant.age, id));
        if participant.status_server == self.server.id() {
            self.press_here(id, abort);
        } else {
            self.ask(id, participant, abort);
        }
    }

    fn press_here(&mut self, id: TransactionId, abort: bool) {
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

    /// Counts the locators of a bucket's entries in its header.
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
