//! What changes when another server has begun a new life, with an empty store.

use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    Incarnation, Key, RequestId, ServerId, Value, View,
    record::{OutboxChannel, StoredMessage},
};

impl<V: View> Turn<'_, V> {
    /// A receiver tells which life it is in. A new one has heard of nothing: what its last one has
    /// not confirmed is numbered anew for it, from 1. What concerns only what it has lost does
    /// nothing there.
    pub fn meet_receiver(&mut self, receiver: ServerId, incarnation: Incarnation) {
        let channel = self.channel(receiver);
        let told = Some(incarnation);
        if channel.receiver.is_none() {
            let channel = OutboxChannel {
                receiver: told,
                ..channel
            };
            self.state.put(Key::OutboxChannel(receiver), channel);
        } else if channel.receiver != told && channel.before != told {
            self.begin_channel(receiver, channel, incarnation);
        }
    }

    fn begin_channel(&mut self, to: ServerId, old: OutboxChannel, incarnation: Incarnation) {
        let gone = old.delivered;
        let channel = OutboxChannel {
            receiver: Some(incarnation),
            before: old.receiver,
            last: old.last - gone,
            delivered: 0,
            sent: self.now,
        };
        for (number, message) in self.take_unconfirmed(to, old) {
            self.state.put(Key::Outbox(to, number - gone), message);
        }
        for (number, request) in self.take_waiters(to, old) {
            self.state
                .put(Key::OutboxWaiter(to, number - gone, request), ());
        }
        self.state.put(Key::OutboxChannel(to), channel);
        self.resend_to(to, channel);
    }

    fn take_unconfirmed(
        &mut self,
        to: ServerId,
        channel: OutboxChannel,
    ) -> Vec<(u64, StoredMessage)> {
        let (from, end) = Key::outbox(to, channel.delivered + 1, channel.last);
        let of = |(key, value): (&Key, &Value)| match key {
            Key::Outbox(_, number) => Some((*number, value.message()?.clone())),
            _ => None,
        };
        let unconfirmed: Vec<(u64, StoredMessage)> =
            self.state.range(from, end).filter_map(of).collect();
        for (number, _) in &unconfirmed {
            self.state.delete(Key::Outbox(to, *number));
        }
        unconfirmed
    }

    fn take_waiters(&mut self, to: ServerId, channel: OutboxChannel) -> Vec<(u64, RequestId)> {
        let (from, end) = Key::outbox_waiters(to, channel.last);
        let of = |(key, _): (&Key, &Value)| match key {
            Key::OutboxWaiter(_, number, request) => Some((*number, *request)),
            _ => None,
        };
        let waiters: Vec<(u64, RequestId)> = self.state.range(from, end).filter_map(of).collect();
        for (number, request) in &waiters {
            self.state.delete(Key::OutboxWaiter(to, *number, *request));
        }
        waiters
    }
}
