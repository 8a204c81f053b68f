//! The reaction to another server that has begun a new incarnation with an empty store.

use crate::builder::DecisionBuilder;
use alloc::vec::Vec;
use futago_base::{
    Incarnation, Key, RequestId, ServerId, Value, View,
    record::{OutboxChannel, StoredMessage},
};

impl<V: View> DecisionBuilder<'_, V> {
    /// A receiver reports its incarnation. A new incarnation has received no message, so the
    /// unconfirmed messages are numbered for it from 1 again. Messages about records that it has
    /// lost have no effect there.
    pub fn meet_receiver(&mut self, receiver: ServerId, incarnation: Incarnation) {
        let channel = self.channel(receiver);
        let reported = Some(incarnation);
        if channel.receiver.is_none() {
            let channel = OutboxChannel {
                receiver: reported,
                ..channel
            };
            self.state.put(Key::OutboxChannel(receiver), channel);
        } else if channel.receiver != reported && channel.before != reported {
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
