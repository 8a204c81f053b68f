//! Builds one decision: from an input to a batch and outputs.

use crate::completion::{self, Completion, Refusal};
use crate::effects::Effects;
use crate::{Decision, Output, Server, operations};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{
    Errno, Key, Moment, Overlay, Payload, RequestId, ServerId, SessionId, Time, TransactionId,
    Value, View,
    record::{Awaited, HeldReply, StoredMessage, Waiter},
};
use futago_wire::{Failure, Outcome, PeerChange, Request, codec};

pub struct DecisionBuilder<'a, V> {
    pub server: &'a Server,
    /// The clock for leases and timeouts.
    pub now: Time,
    /// The clock for the timestamps of files.
    pub stamp: Time,
    pub state: Overlay<'a, V>,
    /// The request that is being served.
    pub request: RequestId,
    /// Whether the requesting client accepts leases.
    pub leases: bool,
    pub effects: Effects,
}

/// The size of the file data in a message, in bytes.
fn data_bytes(output: &Output) -> u64 {
    match output {
        Output::Reply { payload, .. } => payload.len() as u64,
        Output::Push { .. } | Output::Peer { .. } | Output::PeerAnswer { .. } => 0,
    }
}

/// A request to run later, as the store holds it.
pub fn stored(request: &Request, payload: &Payload) -> StoredMessage {
    StoredMessage {
        body: codec::encode(request),
        payload: payload.clone(),
    }
}

/// The request id of work without a client.
pub const NO_REQUEST: RequestId = RequestId {
    session: SessionId(0),
    sequence: 0,
};

impl<'a, V: View> DecisionBuilder<'a, V> {
    pub fn new(server: &'a Server, state: Overlay<'a, V>, now: Moment) -> Self {
        Self {
            server,
            now: now.steady,
            stamp: now.stamp,
            state,
            request: NO_REQUEST,
            leases: false,
            effects: Effects::default(),
        }
    }

    /// The finished decision. `handled` is the request that was the input, if any.
    pub fn decide(mut self, handled: Option<RequestId>) -> Decision {
        self.split_grown();
        let waits_for_clients =
            handled.is_some_and(|id| !self.replies_to(id) && self.is_waiting(id));
        let mut work = self.state.work();
        work.messages = self.effects.outputs.len() as u32;
        work.data_bytes += self.effects.outputs.iter().map(data_bytes).sum::<u64>();
        Decision {
            batch: self.state.into_batch(),
            outputs: self.effects.outputs,
            work,
            transactions: self.effects.transactions,
            waits_for_clients,
        }
    }

    fn replies_to(&self, id: RequestId) -> bool {
        let is_reply =
            |output: &Output| matches!(output, Output::Reply { request, .. } if *request == id);
        self.effects.outputs.iter().any(is_reply)
    }

    pub fn output(&mut self, output: Output) {
        self.effects.outputs.push(output);
    }

    /// Serves a request, unless it is a copy of a served or waiting one.
    pub fn receive(&mut self, id: RequestId, request: &Request, payload: &Payload) {
        if self.is_under_way(id) || self.is_waiting_for_lock(id, request) {
            return;
        }
        match self
            .state
            .get(&Key::Reply(id))
            .and_then(Value::bytes)
            .cloned()
        {
            Some(saved) => self.reply_saved(id, &saved),
            None => self.serve(id, request, payload),
        }
    }

    /// Whether an earlier copy of the request still waits.
    fn is_under_way(&self, id: RequestId) -> bool {
        self.state.get(&Key::HeldReply(id)).is_some() || self.is_waiting(id)
    }

    fn reply_saved(&mut self, id: RequestId, saved: &Bytes) {
        self.reply(id, codec::restore(saved), Payload::empty());
    }

    pub fn reply(&mut self, request: RequestId, outcome: Outcome, payload: Payload) {
        self.output(Output::Reply {
            request,
            outcome,
            payload,
        });
    }

    fn serve(&mut self, id: RequestId, request: &Request, payload: &Payload) {
        self.request = id;
        match self.run_or_undo(request, payload) {
            Ok(Completion { reply, payload }) => self.conclude(id, request, Ok(reply), payload),
            Err(Refusal::Failure(failure)) => {
                self.conclude(id, request, Err(failure), Payload::empty());
            }
            Err(Refusal::Conflict(other)) => self.park(other, id, request, payload),
            Err(Refusal::Leased(nodes)) => self.await_recall(&nodes, id, request, payload),
            Err(Refusal::Released(file)) => {
                let failure = self.want(file);
                self.conclude(id, request, Err(failure), Payload::empty());
            }
            Err(Refusal::Appended(file)) => self.await_node(file, id, request, payload),
            Err(Refusal::Waits) => {}
        }
    }

    /// Runs an operation. If it fails, its changes and its other effects are undone.
    fn run_or_undo(&mut self, request: &Request, payload: &Payload) -> completion::Result {
        let state = self.state.savepoint();
        let mut effects = core::mem::take(&mut self.effects);
        effects.caused.clear();
        let result = self.run_operation(request, payload);
        let effects_of_request = core::mem::take(&mut self.effects);
        if matches!(result, Ok(_) | Err(Refusal::Waits)) {
            effects.append(effects_of_request);
        } else {
            self.state.restore(state);
        }
        self.effects = effects;
        result
    }

    /// Runs an operation. Its changes must fit into the store, and other clients must not hold
    /// leases on the changed nodes.
    fn run_operation(&mut self, request: &Request, payload: &Payload) -> completion::Result {
        if let Some(file) = self.released_file_of(request) {
            return Err(Refusal::Released(file));
        }
        let mut completion = operations::run(self, request, payload)?;
        if operations::grows(request) && !self.state.fits() {
            return Err(Errno::ENOSPC.into());
        }
        let mut leased = self.changed_under_leases(request);
        if self.leases {
            self.attach_changed_state(request, &mut completion.reply);
        }
        leased.extend(self.disclosed_under_exclusive_leases(request, &completion.reply));
        if !leased.is_empty() {
            return Err(Refusal::Leased(leased));
        }
        if self.leases {
            self.grant_leases(&mut completion.reply);
        }
        operations::create::open(self, request, &completion.reply);
        Ok(completion)
    }

    /// Saves the outcome if the request may have an effect. The reply leaves now, or when the
    /// caused messages are confirmed.
    ///
    /// A failure is saved too, because a late copy of the request must not succeed after the caller
    /// has seen the failure.
    fn conclude(&mut self, id: RequestId, request: &Request, outcome: Outcome, payload: Payload) {
        let is_retried = outcome == Err(Failure::Busy);
        if operations::may_have_effect(request) && !is_retried {
            self.save_reply(id, &outcome);
        }
        if self.effects.caused.is_empty() {
            return self.reply(id, outcome, payload);
        }
        let caused = core::mem::take(&mut self.effects.caused);
        let deadline = self.now + self.server.config.grace;
        let held = HeldReply {
            request: id,
            waiting: caused.len() as u32,
            deadline,
        };
        self.state.put(Key::HeldReply(id), held);
        for (to, number) in caused {
            self.state.put(Key::OutboxWaiter(to, number, id), ());
        }
    }

    pub fn save_reply(&mut self, id: RequestId, outcome: &Outcome) {
        self.state.put(Key::Reply(id), codec::encode(outcome));
    }

    /// Replies to a request that had to wait, and saves the reply.
    pub fn reply_late(&mut self, id: RequestId, outcome: Outcome) {
        self.save_reply(id, &outcome);
        self.reply(id, outcome, Payload::empty());
    }

    /// Sends a held reply.
    pub fn release(&mut self, id: RequestId) {
        self.state.delete(Key::HeldReply(id));
        if let Some(saved) = self
            .state
            .get(&Key::Reply(id))
            .and_then(Value::bytes)
            .cloned()
        {
            self.reply_saved(id, &saved);
        }
    }

    fn park(
        &mut self,
        transaction: TransactionId,
        id: RequestId,
        request: &Request,
        payload: &Payload,
    ) {
        let message = stored(request, payload);
        let awaited = Awaited::Transaction(transaction);
        self.wait_for(awaited, Waiter::Request(id), message);
        self.effects.transactions.conflicts += 1;
        let other = match request {
            Request::Prepare {
                transaction, age, ..
            } => Some((*age, *transaction)),
            _ => None,
        };
        self.expedite(transaction, other);
    }

    /// Replies `Busy` to the requests that wait for a transaction; none of them has had an effect.
    pub fn refuse_parked(&mut self, transaction: TransactionId) {
        for (waiter, _) in self.take_waiting(Awaited::Transaction(transaction)) {
            if let Waiter::Request(request) = waiter {
                self.reply(request, Err(Failure::Busy), Payload::empty());
            }
        }
    }

    /// Notes that a transaction is resolved.
    pub fn unblock_after(&mut self, transaction: TransactionId) {
        self.effects.resolved.push(transaction);
    }

    /// Runs the requests whose transactions are resolved or whose leases are returned; that may
    /// unblock further requests.
    pub fn run_unblocked(&mut self) {
        loop {
            let transaction = self.effects.resolved.pop().map(Awaited::Transaction);
            let node = self.effects.unblocked_nodes.pop().map(Awaited::Node);
            if transaction.is_none() && node.is_none() {
                return;
            }
            let mut unblocked = Vec::new();
            for event in transaction.into_iter().chain(node) {
                unblocked.extend(self.take_waiting(event));
            }
            for (waiter, message) in unblocked {
                self.run_unblocked_message(waiter, &message);
            }
        }
    }

    fn run_unblocked_message(&mut self, waiter: Waiter, message: &StoredMessage) {
        match waiter {
            Waiter::Peer {
                sender,
                from,
                number,
            } => {
                let change = codec::restore(&message.body);
                if self.inbox(sender).sender == from {
                    self.deliver(sender, from, number, change);
                } else {
                    self.settle_message_of_ended_life(waiter, change);
                }
            }
            Waiter::Request(id) => {
                let request = codec::restore(&message.body);
                self.leases = self.has_leases(id.session);
                self.serve(id, &request, &message.payload);
            }
        }
    }

    /// Puts a change into the ordered channel to another server and sends it.
    pub fn send(&mut self, to: ServerId, change: PeerChange) {
        let mut channel = self.channel(to);
        // A later message does not restart the timer, because a lost one would then wait until the
        // channel falls silent.
        if channel.delivered == channel.last {
            channel.sent = self.now;
        }
        channel.last += 1;
        let number = channel.last;
        let body = codec::encode(&change);
        let message = StoredMessage {
            body,
            payload: Payload::empty(),
        };
        self.state.put(Key::Outbox(to, number), message);
        self.state.put(Key::OutboxChannel(to), channel);
        self.effects.caused.push((to, number));
        self.send_numbered(to, channel.receiver, number, change);
    }

    /// Lets the reply of the present request leave without waiting for the messages that it caused.
    pub fn reply_at_once(&mut self) {
        self.effects.caused.clear();
    }
}
