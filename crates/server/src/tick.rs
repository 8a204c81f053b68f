//! The work of ticks.

use crate::{Server, builder::DecisionBuilder};
use alloc::vec::Vec;
use futago_base::{
    Batch, Duration, Key, RequestId, Time, TransactionId, Value, View,
    record::{SessionState, Sort, TransactionState},
};

/// The sorts of records that ticks bring to an end.
const UNFINISHED: [Sort; 8] = [
    Sort::Participant,
    Sort::TransactionStatus,
    Sort::OutboxChannel,
    Sort::HeldReply,
    Sort::Recall,
    Sort::AwaitsRecall,
    Sort::Unfenced,
    Sort::Consultation,
];

/// Functions for drivers that skip useless ticks.
impl Server {
    /// The delay after this batch until a tick is useful; `None` if the batch leaves no work for
    /// ticks.
    pub fn tick_after(&self, batch: &Batch) -> Option<Duration> {
        let of = |key: &Key| match key {
            Key::Participant(_)
            | Key::TransactionStatus(_)
            | Key::OutboxChannel(_)
            | Key::HeldReply(_)
            | Key::Recall(_)
            | Key::AwaitsRecall(..)
            | Key::Unfenced(..)
            | Key::Consultation(..) => Some(self.config.tick),
            Key::Link(_) => Some(Duration(self.config.lease.0 / 4)),
            Key::Session(_) if self.config.lease < Duration::MAX => Some(self.config.lease),
            _ => None,
        };
        let put = batch.records.iter().filter(|(_, value)| value.is_some());
        put.filter_map(|(key, _)| of(key)).min()
    }

    /// The time of the next useful tick, right after a tick. It is soon while work is unfinished,
    /// else when the lease of a session may end.
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
        let unended = sessions.filter(|session| session.state != SessionState::Expired);
        let silent = unended.map(|session| session.seen + self.config.lease);
        let (from, to) = Key::whole_sort(Sort::Link);
        let links = view.range(from, to).filter_map(|(_, value)| value.link());
        let in_use = links.filter(|link| link.facts > 0);
        let due = in_use.map(|link| link.sent + Duration(self.config.lease.0 / 4));
        let first = silent.chain(due).min()?;
        Some(first.max(now) + self.config.tick)
    }
}

/// Whether a sort has unfinished records. Records of channels are permanent and finished when all
/// messages are confirmed.
fn has_unfinished<V: View>(view: &V, sort: Sort) -> bool {
    let (from, to) = Key::whole_sort(sort);
    view.range(from, to).any(|(_, value)| {
        let channel = value.outbox_channel();
        channel.is_none_or(|channel| channel.delivered < channel.last)
    })
}

impl<V: View> DecisionBuilder<'_, V> {
    pub fn tick(&mut self) {
        self.resend();
        self.release_overdue();
        self.expedite_all();
        self.abort_overdue();
        self.refuse_undecided();
        self.retry_recalls();
        self.pass_late_appends();
        self.expire_sessions();
        self.retry_fences();
        self.tend_links();
    }

    /// Replies to the requests that have waited too long for confirmations of other servers.
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

    /// Asks for the state of every transaction that has reserved a record here.
    fn expedite_all(&mut self) {
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
            self.expedite(transaction, None);
        }
    }

    /// Replies `Busy` to the requests that wait for a transaction whose status server cannot be
    /// reached. The client decides how long it retries.
    fn refuse_undecided(&mut self) {
        let limit = self.server.config().grace.times(2);
        let (from, to) = Key::whole_sort(Sort::Participant);
        let undecided: Vec<TransactionId> = self
            .state
            .range(from, to)
            .filter_map(|(key, value)| match (key, value.participant()) {
                (Key::Participant(id), Some(participant)) => Some((*id, participant.since)),
                _ => None,
            })
            .filter(|(_, since)| self.now.since(*since) > limit)
            .map(|(id, _)| id)
            .collect();
        for transaction in undecided {
            self.refuse_parked(transaction);
        }
    }

    /// Aborts the transactions whose clients seem to be dead.
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
