//! What happens because time has passed.

use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    Key, RequestId, TransactionId, Value, View,
    record::{Sort, TransactionState},
};

impl<V: View> Turn<'_, V> {
    pub fn tick(&mut self) {
        self.resend();
        self.release_overdue();
        self.press_all();
        self.abort_overdue();
        self.expire_sessions();
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
