//! The ordered, durable channels between servers: each message takes effect exactly once.

use crate::Output;
use crate::builder::DecisionBuilder;
use alloc::vec::Vec;
use futago_base::{
    FileId, Incarnation, Key, Payload, RequestId, ServerId, Value, View,
    record::{
        Awaited, HeldReply, InboxChannel, OutboxChannel, Sort, StoredMessage, TransactionState,
        Waiter,
    },
};
use futago_wire::{Peer, PeerAnswer, PeerChange, codec};

/// The most unconfirmed messages of a channel that one resend repeats.
const RESEND_MESSAGES: u64 = 64;

impl<V: View> DecisionBuilder<'_, V> {
    pub fn channel(&self, to: ServerId) -> OutboxChannel {
        let channel = self
            .state
            .get(&Key::OutboxChannel(to))
            .and_then(Value::outbox_channel);
        channel.copied().unwrap_or_default()
    }

    pub fn receive_peer(&mut self, message: Peer) {
        match message {
            Peer::Deliver {
                sender,
                from,
                to,
                number,
                change,
            } => {
                if !self.meet_sender(sender, from) {
                    return;
                }
                if to.is_none_or(|to| to == self.server.incarnation()) {
                    self.deliver(sender, from, number, change);
                } else {
                    self.confirm_to(sender, from);
                }
            }
            Peer::Ask {
                sender,
                transaction,
                abort,
            } => {
                let state = self.transaction_state(transaction, abort);
                let answer = PeerAnswer::State { transaction, state };
                self.output(Output::PeerAnswer { to: sender, answer });
            }
            Peer::Fence { sender, session } => {
                self.fence(session);
                let receiver = self.server.id();
                let answer = PeerAnswer::Fenced { receiver, session };
                self.output(Output::PeerAnswer { to: sender, answer });
            }
            Peer::Contact {
                sender,
                session,
                number: sequence,
                introduces,
                message,
            } => {
                let id = RequestId { session, sequence };
                self.receive_contact(sender, id, introduces, message);
            }
            Peer::Recall {
                sender,
                session,
                recalls,
            } => self.receive_recalls(sender, session, &recalls),
        }
    }

    /// Accepts a message if it is the next of its channel and no client holds a lease on the nodes
    /// that it changes. Messages after a parked one are parked too. Any other message is only
    /// confirmed up to the progress of the channel.
    pub fn deliver(
        &mut self,
        sender: ServerId,
        from: Incarnation,
        number: u64,
        change: PeerChange,
    ) {
        let inbox = self.inbox(sender);
        let at = |number| Waiter::Peer {
            sender,
            from,
            number,
        };
        let (message, next) = (at(number), at(inbox.done + 1));
        if let Some(node) = self.blocking_node(message, next, &change) {
            return self.await_recall_for_peer(node, message, change);
        }
        if message == next {
            self.accept(change);
            let inbox = InboxChannel {
                done: number,
                ..inbox
            };
            self.state.put(Key::Inbox(sender), inbox);
        }
        self.confirm_to(sender, from);
    }

    pub fn inbox(&self, sender: ServerId) -> InboxChannel {
        let inbox = self.state.get(&Key::Inbox(sender));
        let inbox = inbox.and_then(Value::inbox_channel);
        inbox.copied().unwrap_or_default()
    }

    /// Confirms to a server how far its channel has progressed.
    fn confirm_to(&mut self, sender: ServerId, from: Incarnation) {
        let answer = PeerAnswer::Delivered {
            receiver: self.server.id(),
            by: self.server.incarnation(),
            from,
            number: self.inbox(sender).done,
        };
        self.output(Output::PeerAnswer { to: sender, answer });
    }

    /// The node whose leases must be returned before the message can take effect. It is the node
    /// that the message changes, or the node for which the next message of the channel waits.
    fn blocking_node(
        &mut self,
        message: Waiter,
        next: Waiter,
        change: &PeerChange,
    ) -> Option<FileId> {
        if message == next {
            return self.leased_node(change);
        }
        match self.awaited(next) {
            Some(Awaited::Node(node)) if message > next => {
                self.leased_node(change);
                Some(node)
            }
            _ => None,
        }
    }

    /// The node that a message changes and that has leases; this recalls them. The client whose
    /// request caused the message needs no recall if the request named the node, unless its lease
    /// is newer than the request: the reply may not have waited for this message. A transaction
    /// needs no recall when it is resolved, because its nodes have no other leases.
    fn leased_node(&mut self, change: &PeerChange) -> Option<FileId> {
        match change {
            PeerChange::DropLink { file, by } => {
                let keeper = self.holder_before(*file, *by);
                self.recall(*file, keeper).then_some(*file)
            }
            PeerChange::Transfer { directory, .. } => {
                self.recall(*directory, None).then_some(*directory)
            }
            _ => None,
        }
    }

    /// Lets a message take effect that has waited here while its sender lost all that it had. It
    /// was the next of its channel, and is perhaps all that is left of the change.
    pub fn settle_message_of_ended_life(&mut self, message: Waiter, change: PeerChange) {
        match self.leased_node(&change) {
            Some(node) => self.await_recall_for_peer(node, message, change),
            None => self.accept(change),
        }
    }

    /// Parks a message until the leases on a node are returned.
    fn await_recall_for_peer(&mut self, node: FileId, waiter: Waiter, change: PeerChange) {
        let message = StoredMessage {
            body: codec::encode(&change),
            payload: Payload::empty(),
        };
        self.wait_for(Awaited::Node(node), waiter, message);
    }

    fn accept(&mut self, change: PeerChange) {
        match change {
            PeerChange::DropLink { file, .. } => {
                self.drop_link(file);
                self.end_leases_of_removed(file);
            }
            PeerChange::Admit { file, heard } => self.admit_file(file, heard),
            PeerChange::RemoveChunks(file) => self.remove_chunks(file),
            PeerChange::Cut {
                file,
                chunk_bytes,
                truncation,
            } => self.apply_truncation(file, chunk_bytes, truncation),
            PeerChange::Transfer {
                directory,
                bucket,
                entries,
                header,
            } => {
                self.receive_bucket(directory, bucket, entries, header);
            }
            PeerChange::Resolve {
                transaction,
                committed,
            } => self.resolve(transaction, committed),
        }
    }

    pub fn receive_peer_answer(&mut self, answer: PeerAnswer) {
        match answer {
            PeerAnswer::Delivered {
                receiver,
                by,
                from,
                number,
            } => {
                if from == self.server.incarnation() && self.meet_receiver(receiver, by) {
                    self.confirm(receiver, number);
                }
            }
            PeerAnswer::State {
                state: TransactionState::Active,
                ..
            } => {}
            PeerAnswer::Contact {
                receiver,
                session,
                number,
                reply,
            } => self.receive_contact_reply(receiver, session, number, reply),
            PeerAnswer::Fenced { receiver, session } => self.note_fenced_at(receiver, session),
            PeerAnswer::State { transaction, state } => {
                self.resolve(transaction, state == TransactionState::Committed);
            }
        }
    }

    /// All messages to `receiver` up to `number` have taken effect there.
    fn confirm(&mut self, receiver: ServerId, number: u64) {
        let mut channel = self.channel(receiver);
        if number <= channel.delivered || number > channel.last {
            return;
        }
        let (from, to) = Key::outbox(receiver, channel.delivered + 1, number);
        let confirmed: Vec<(Key, PeerChange)> = self
            .state
            .range(from, to)
            .filter_map(|(key, value)| Some((key.clone(), codec::restore(&value.message()?.body))))
            .collect();
        channel.delivered = number;
        // Progress of the channel restarts the resend timer of the remaining messages.
        channel.sent = self.now;
        self.state.put(Key::OutboxChannel(receiver), channel);
        for (key, change) in confirmed {
            self.state.delete(key);
            self.settle(change);
        }
        self.wake_held(receiver, number);
    }

    /// Performs the follow-up of a confirmed message at its sender.
    fn settle(&mut self, change: PeerChange) {
        match change {
            PeerChange::Cut { file, .. } => self.settle_cut(file),
            PeerChange::Resolve { transaction, .. } => self.settle_transaction(transaction),
            PeerChange::DropLink { .. }
            | PeerChange::Admit { .. }
            | PeerChange::RemoveChunks(_)
            | PeerChange::Transfer { .. } => {}
        }
    }

    fn wake_held(&mut self, receiver: ServerId, number: u64) {
        let (from, to) = Key::outbox_waiters(receiver, number);
        let waiters: Vec<(Key, RequestId)> = self
            .state
            .range(from, to)
            .filter_map(|(key, _)| match key {
                Key::OutboxWaiter(_, _, request) => Some((key.clone(), *request)),
                _ => None,
            })
            .collect();
        for (key, request) in waiters {
            self.state.delete(key);
            let held = self
                .state
                .get(&Key::HeldReply(request))
                .and_then(Value::held_reply);
            if let Some(held) = held.cloned() {
                self.count_confirmation(held);
            }
        }
    }

    fn count_confirmation(&mut self, held: HeldReply) {
        if held.waiting <= 1 {
            self.release(held.request);
        } else {
            let waiting = held.waiting - 1;
            self.state
                .put(Key::HeldReply(held.request), HeldReply { waiting, ..held });
        }
    }

    /// Resends the messages of channels that were not confirmed in time.
    pub fn resend(&mut self) {
        let (from, to) = Key::whole_sort(Sort::OutboxChannel);
        let stuck: Vec<(ServerId, OutboxChannel)> = self
            .state
            .range(from, to)
            .filter_map(|(key, value)| match key {
                Key::OutboxChannel(to) => Some((*to, *value.outbox_channel()?)),
                _ => None,
            })
            .filter(|(_, channel)| channel.delivered < channel.last)
            .filter(|(_, channel)| self.now.since(channel.sent) >= self.server.config().resend)
            .collect();
        for (to, channel) in stuck {
            self.resend_to(to, channel);
        }
    }

    /// Sends a message of a channel.
    pub fn send_numbered(
        &mut self,
        to: ServerId,
        receiver: Option<Incarnation>,
        number: u64,
        change: PeerChange,
    ) {
        let message = Peer::Deliver {
            sender: self.server.id(),
            from: self.server.incarnation(),
            to: receiver,
            number,
            change,
        };
        self.output(Output::Peer { to, message });
    }

    pub fn resend_to(&mut self, to: ServerId, channel: OutboxChannel) {
        let first = channel.delivered + 1;
        let (from, end) = Key::outbox(to, first, first + (RESEND_MESSAGES - 1));
        let messages: Vec<(u64, PeerChange)> = self
            .state
            .range(from, end)
            .filter_map(|(key, value)| match key {
                Key::Outbox(_, number) => Some((*number, codec::restore(&value.message()?.body))),
                _ => None,
            })
            .collect();
        for (number, change) in messages {
            self.send_numbered(to, channel.receiver, number, change);
        }
        self.state.put(
            Key::OutboxChannel(to),
            OutboxChannel {
                sent: self.now,
                ..channel
            },
        );
    }
}
