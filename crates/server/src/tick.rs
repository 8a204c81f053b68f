//! What happens because time has passed.

use crate::{Server, turn::Turn};
use alloc::vec::Vec;
use futago_base::{
    Batch, Duration, Key, RequestId, Time, TransactionId, Value, View,
    record::{SessionState, Sort, TransactionState},
};

/// The records of what ticks bring to an end.
const UNFINISHED: [Sort; 7] = [
    Sort::Participant,
    Sort::TransactionStatus,
    Sort::OutboxChannel,
    Sort::HeldReply,
    Sort::Recall,
    Sort::AwaitsRecall,
    Sort::Unfenced,
];

/// For drivers that give ticks only where they lead to something.
impl Server {
    /// How long after this batch a tick is useful; `None` if it leaves nothing for ticks to do.
    pub fn tick_after(&self, batch: &Batch) -> Option<Duration> {
        let of = |key: &Key| match key {
            Key::Participant(_)
            | Key::TransactionStatus(_)
            | Key::OutboxChannel(_)
            | Key::HeldReply(_)
            | Key::Recall(_)
            | Key::AwaitsRecall(..)
            | Key::Unfenced(..) => Some(self.config.tick),
            Key::Session(_) if self.config.lease < Duration::MAX => Some(self.config.lease),
            _ => None,
        };
        let put = batch.records.iter().filter(|(_, value)| value.is_some());
        put.filter_map(|(key, _)| of(key)).min()
    }

    /// When the next tick is useful, right after one: soon if something is unfinished, else when
    /// the lease of some session may end.
    pub fn next_tick<V: View>(&self, view: &V, now: Time) -> Option<Time> {
        if UNFINISHED.iter().any(|&sort| has_unfinished(view, sort)) {
            return Some(now + self.config.tick);
        }
        if self.config.lease == Duration::MAX {
            return None;
        }
        let (from, to) = Key::whole_sort(Sort::Session);
        let sessions = view
            .range(from, to)
            .filter_map(|(_, value)| value.session());
        let living = sessions.filter(|session| session.state == SessionState::Living);
        let first = living
            .map(|session| session.seen + self.config.lease)
            .min()?;
        Some(first.max(now) + self.config.tick)
    }
}

/// Whether there is a record of a sort that is not settled; of channels, all records stay.
fn has_unfinished<V: View>(view: &V, sort: Sort) -> bool {
    let (from, to) = Key::whole_sort(sort);
    view.range(from, to).any(|(_, value)| {
        let channel = value.outbox_channel();
        channel.is_none_or(|channel| channel.delivered < channel.last)
    })
}

impl<V: View> Turn<'_, V> {
    pub fn tick(&mut self) {
        self.resend();
        self.release_overdue();
        self.press_all();
        self.abort_overdue();
        self.turn_away();
        self.press_recalls();
        self.pass_late_appends();
        self.expire_sessions();
        self.press_fences();
    }

    /// Answers the requests that have waited long enough for messages to arrive.
    fn release_overdue(&mut self) {
        let (from, to) = Key::whole_sort(Sort::HeldReply);
        let overdue: Vec<RequestId> = self
            .state
            .range(from, to)
            .filter_map(|(_, value)| value.held_reply())
            .filter(|held| held.deadline <= self.now)
            .map(|held| held.request)
            .collect();
        for request in overdue {
            self.release(request);
        }
    }

    /// Asks about every transaction that has reserved something here.
    fn press_all(&mut self) {
        let (from, to) = Key::whole_sort(Sort::Participant);
        let waiting: Vec<TransactionId> = self
            .state
            .range(from, to)
            .filter_map(|(key, _)| match key {
                Key::Participant(transaction) => Some(*transaction),
                _ => None,
            })
            .collect();
        for transaction in waiting {
            self.press(transaction, None);
        }
    }

    /// Nobody can tell what becomes of a transaction while the server that decides about it cannot be
    /// reached: who waits for that is sent away, and gives up when it likes.
    fn turn_away(&mut self) {
        let patience = self.server.config().grace.times(2);
        let (from, to) = Key::whole_sort(Sort::Participant);
        let undecided: Vec<TransactionId> = self
            .state
            .range(from, to)
            .filter_map(|(key, value)| match (key, value.participant()) {
                (Key::Participant(id), Some(participant)) => Some((*id, participant.since)),
                _ => None,
            })
            .filter(|(_, since)| self.now.since(*since) > patience)
            .map(|(id, _)| id)
            .collect();
        for transaction in undecided {
            self.turn_parked_away(transaction);
        }
    }

    /// Aborts the transactions whose clients seem to be gone.
    fn abort_overdue(&mut self) {
        let (from, to) = Key::whole_sort(Sort::TransactionStatus);
        let overdue: Vec<TransactionId> = self
            .state
            .range(from, to)
            .filter_map(|(key, value)| match (key, value) {
                (Key::TransactionStatus(id), Value::TransactionStatus(status)) => {
                    Some((*id, status))
                }
                _ => None,
            })
            .filter(|(_, status)| status.state == TransactionState::Active)
            .filter(|(_, status)| self.now.since(status.began) > self.server.config().grace)
            .map(|(id, _)| id)
            .collect();
        for transaction in overdue {
            self.decide_transaction(transaction, false);
        }
    }
}
