//! The reaction to another server that has begun a new incarnation with an empty store.

use crate::builder::DecisionBuilder;
use alloc::vec::Vec;
use futago_base::{
    Incarnation, Key, RequestId, ServerId, Value, View,
    record::{InboxChannel, OutboxChannel, StoredMessage},
};

impl<V: View> DecisionBuilder<'_, V> {
    /// A sender reports its incarnation. A new incarnation numbers its messages from 1 again, so it
    /// gets a new inbox. Returns `false` if the incarnation is over.
    pub fn meet_sender(&mut self, sender: ServerId, incarnation: Incarnation) -> bool {
        let known = self.known_sender(sender);
        if known == Some(incarnation) {
            return true;
        }
        let lives_on = self.begin_life(sender, incarnation);
        if lives_on {
            let inbox = InboxChannel {
                sender: incarnation,
                done: 0,
            };
            self.state.put(Key::Inbox(sender), inbox);
        }
        lives_on
    }

    /// A receiver reports its incarnation. A new incarnation has received no message, so the
    /// unconfirmed messages are numbered for it from 1 again. Messages about records that it has
    /// lost have no effect there. Returns `false` if the incarnation is over.
    pub fn meet_receiver(&mut self, receiver: ServerId, incarnation: Incarnation) -> bool {
        let channel = self.channel(receiver);
        if channel.receiver == Some(incarnation) {
            return true;
        }
        let lives_on = self.begin_life(receiver, incarnation);
        if lives_on {
            self.begin_channel(receiver, channel, incarnation);
        }
        lives_on
    }

    /// Notes that all other known incarnations of a server are over, unless this one is over
    /// itself. Incarnations have no order, so each of them is remembered, however many there were.
    fn begin_life(&mut self, server: ServerId, incarnation: Incarnation) -> bool {
        let key = Key::EndedLives(server);
        let ended = self.state.get(&key).and_then(Value::lives);
        let mut ended = ended.cloned().unwrap_or_default();
        if ended.contains(&incarnation) {
            return false;
        }
        let known = [self.known_sender(server), self.channel(server).receiver];
        for life in known.into_iter().flatten() {
            if life != incarnation && !ended.contains(&life) {
                ended.push(life);
            }
        }
        if !ended.is_empty() {
            self.state.put(key, ended);
        }
        true
    }

    fn known_sender(&self, server: ServerId) -> Option<Incarnation> {
        let inbox = self.state.get(&Key::Inbox(server));
        let inbox = inbox.and_then(Value::inbox_channel);
        inbox.map(|inbox| inbox.sender)
    }

    /// Begins the channel to an incarnation of a receiver. The first known incarnation receives the
    /// messages under their present numbers.
    fn begin_channel(&mut self, to: ServerId, old: OutboxChannel, incarnation: Incarnation) {
        if old.receiver.is_none() {
            let receiver = Some(incarnation);
            let channel = OutboxChannel { receiver, ..old };
            return self.state.put(Key::OutboxChannel(to), channel);
        }
        let gone = old.delivered;
        let channel = OutboxChannel {
            receiver: Some(incarnation),
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
