//! Messages that wait for clients. Each is stored with its condition, and noted by its own name, so
//! that neither search walks over the others.

use crate::builder::DecisionBuilder;
use alloc::vec::Vec;
use futago_base::{
    Key, RequestId, SessionId, Value, View,
    record::{Awaited, StoredMessage, Waiter},
};

const fn location(awaited: Awaited, waiter: Waiter) -> Key {
    match awaited {
        Awaited::Transaction(transaction) => Key::Parked(transaction, waiter),
        Awaited::Node(node) => Key::AwaitsRecall(node, waiter),
    }
}

const fn all_of(awaited: Awaited) -> (Key, Key) {
    match awaited {
        Awaited::Transaction(transaction) => Key::parked(transaction),
        Awaited::Node(node) => Key::awaiting_recall(node),
    }
}

impl<V: View> DecisionBuilder<'_, V> {
    /// Stores a message until an event. A copy that waits already is replaced.
    pub fn wait_for(&mut self, awaited: Awaited, waiter: Waiter, message: StoredMessage) {
        self.stop_waiting(waiter);
        self.state.put(location(awaited, waiter), message);
        self.state.put(Key::Waiting(waiter), awaited);
    }

    /// The event that a message waits for; `None` if it does not wait.
    pub fn awaited(&self, waiter: Waiter) -> Option<Awaited> {
        let waiting = self.state.get(&Key::Waiting(waiter));
        waiting.and_then(Value::awaited).copied()
    }

    pub fn is_waiting(&self, request: RequestId) -> bool {
        self.awaited(Waiter::Request(request)).is_some()
    }

    /// Takes the messages that have waited for an event.
    pub fn take_waiting(&mut self, awaited: Awaited) -> Vec<(Waiter, StoredMessage)> {
        let (from, to) = all_of(awaited);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Parked(_, waiter) | Key::AwaitsRecall(_, waiter) => {
                Some((*waiter, value.message()?.clone()))
            }
            _ => None,
        };
        let waiting: Vec<_> = self.state.range(from, to).filter_map(of).collect();
        for (waiter, _) in &waiting {
            self.stop_waiting(*waiter);
        }
        waiting
    }

    /// Forgets the waiting requests of a session: they must not run after its end, and get no
    /// reply.
    pub fn forget_waiting(&mut self, session: SessionId) {
        let (from, to) = Key::waiting_requests(session);
        let of = |(key, _): (&Key, &Value)| match key {
            Key::Waiting(waiter) => Some(*waiter),
            _ => None,
        };
        let waiting: Vec<Waiter> = self.state.range(from, to).filter_map(of).collect();
        for waiter in waiting {
            self.stop_waiting(waiter);
        }
    }

    fn stop_waiting(&mut self, waiter: Waiter) {
        if let Some(awaited) = self.awaited(waiter) {
            self.state.delete(location(awaited, waiter));
            self.state.delete(Key::Waiting(waiter));
        }
    }
}
