//! Builds one decision: from an input to a batch and outputs.

use crate::completion::{self, Completion, Refusal};
use crate::{Decision, Output, Server, TransactionCounts, operations};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{
    BucketStart, Errno, FileId, Key, Moment, Overlay, Payload, RequestId, ServerId, SessionId,
    Time, TransactionId, Value, View,
    record::{HeldReply, Sort, StoredMessage},
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
    /// Nodes that have lost their last lease or an append range: the requests that wait for them
    /// run again.
    pub unblocked_nodes: Vec<FileId>,
    /// Buckets with new entries; those that are too large are split at the end.
    pub grown: Vec<(FileId, BucketStart)>,
    pub transactions: TransactionCounts,
    outputs: Vec<Output>,
    /// The messages to other servers that the present request has caused: its reply waits for them.
    caused: Vec<(ServerId, u64)>,
    /// Resolved transactions: the requests that wait for them run again.
    resolved: Vec<TransactionId>,
}

/// The size of the file data in a message, in bytes.
fn data_bytes(output: &Output) -> u64 {
    match output {
        Output::Reply { payload, .. } => payload.len() as u64,
        Output::Push { .. } | Output::Peer { .. } | Output::PeerAnswer { .. } => 0,
    }
}

/// A request to run later, as the store holds it.
pub fn stored(id: RequestId, request: &Request, payload: &Payload) -> StoredMessage {
    StoredMessage {
        request: id,
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
            unblocked_nodes: Vec::new(),
            grown: Vec::new(),
            transactions: TransactionCounts::default(),
            outputs: Vec::new(),
            caused: Vec::new(),
            resolved: Vec::new(),
        }
    }

    /// The finished decision. `handled` is the request that was the input, if any.
    pub fn decide(mut self, handled: Option<RequestId>) -> Decision {
        self.split_grown();
        let waits_for_clients =
            handled.is_some_and(|id| !self.replies_to(id) && self.waits_for_clients(id));
        let mut work = self.state.work();
        work.messages = self.outputs.len() as u32;
        work.data_bytes += self.outputs.iter().map(data_bytes).sum::<u64>();
        Decision {
            batch: self.state.into_batch(),
            outputs: self.outputs,
            work,
            transactions: self.transactions,
            waits_for_clients,
        }
    }

    fn replies_to(&self, id: RequestId) -> bool {
        let is_reply =
            |output: &Output| matches!(output, Output::Reply { request, .. } if *request == id);
        self.outputs.iter().any(is_reply)
    }

    pub fn output(&mut self, output: Output) {
        self.outputs.push(output);
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
        self.state.get(&Key::HeldReply(id)).is_some() || self.waits_for_clients(id)
    }

    fn waits_for_clients(&self, id: RequestId) -> bool {
        let sorts = [Sort::Parked, Sort::AwaitsRecall];
        let mut sorts = sorts.into_iter().filter(|&sort| self.state.may_have(sort));
        sorts.any(|sort| {
            let (from, to) = Key::whole_sort(sort);
            let mut waiting = self.state.range(from, to);
            waiting.any(|(key, _)| {
                matches!(key, Key::Parked(_, other) | Key::AwaitsRecall(_, other) if *other == id)
            })
        })
    }

    fn reply_saved(&mut self, id: RequestId, saved: &Bytes) {
        let outcome = codec::decode(saved).unwrap_or(Err(Failure::Errno(Errno::EIO)));
        self.reply(id, outcome, Payload::empty());
    }

    pub fn reply(&mut self, request: RequestId, outcome: Outcome, payload: Payload) {
        self.output(Output::Reply {
            request,
            outcome,
            payload,
        });
    }

    fn serve(&mut self, id: RequestId, request: &Request, payload: &Payload) {
        let before = self.state.savepoint();
        let outputs = self.outputs.len();
        let transactions = self.transactions;
        let unblocked_nodes = self.unblocked_nodes.len();
        self.request = id;
        self.caused.clear();
        let result = self.run_operation(request, payload);
        if result.is_err() && !matches!(result, Err(Refusal::Waits)) {
            self.state.restore(before);
            self.outputs.truncate(outputs);
            self.unblocked_nodes.truncate(unblocked_nodes);
            self.transactions = transactions;
            self.caused.clear();
        }
        match result {
            Ok(Completion { reply, payload }) => self.conclude(id, request, Ok(reply), payload),
            Err(Refusal::Failure(failure)) => {
                self.conclude(id, request, Err(failure), Payload::empty());
            }
            Err(Refusal::Conflict(other)) => self.park(other, id, request, payload),
            Err(Refusal::Leased(nodes)) => self.await_recall(&nodes, id, request, payload),
            Err(Refusal::Appended(file)) => self.await_node(file, id, request, payload),
            Err(Refusal::Waits) => {}
        }
    }

    /// Runs an operation. Its changes must fit into the store, and other clients must not hold
    /// leases on the changed nodes.
    fn run_operation(&mut self, request: &Request, payload: &Payload) -> completion::Result {
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
        if self.caused.is_empty() {
            return self.reply(id, outcome, payload);
        }
        let caused = core::mem::take(&mut self.caused);
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
        let message = stored(id, request, payload);
        self.state.put(Key::Parked(transaction, id), message);
        self.transactions.conflicts += 1;
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
        let (from, to) = Key::parked(transaction);
        let parked: Vec<RequestId> = self
            .state
            .range(from, to)
            .filter_map(|(_, value)| value.message().map(|message| message.request))
            .collect();
        for request in parked {
            self.state.delete(Key::Parked(transaction, request));
            self.reply(request, Err(Failure::Busy), Payload::empty());
        }
    }

    /// Notes that a transaction is resolved.
    pub fn unblock_after(&mut self, transaction: TransactionId) {
        self.resolved.push(transaction);
    }

    /// Runs the requests whose transactions are resolved or whose leases are returned; that may
    /// unblock further requests.
    pub fn run_unblocked(&mut self) {
        loop {
            let unblocked = match (self.resolved.pop(), self.unblocked_nodes.pop()) {
                (None, None) => return,
                (transaction, node) => {
                    let parked = transaction.map(|id| self.take_parked(id));
                    let awaiting = node.map(|node| self.take_awaiting(node));
                    parked.into_iter().chain(awaiting).flatten()
                }
            };
            for message in unblocked {
                self.run_unblocked_message(&message);
            }
        }
    }

    fn run_unblocked_message(&mut self, message: &StoredMessage) {
        let id = message.request;
        if id.session == NO_REQUEST.session {
            if let Ok(peer) = codec::decode(&message.body) {
                self.receive_peer(peer);
            }
        } else if let Ok(request) = codec::decode(&message.body) {
            self.leases = self.has_leases(id.session);
            self.serve(id, &request, &message.payload);
        }
    }

    /// Takes the requests that waited for a transaction.
    fn take_parked(&mut self, transaction: TransactionId) -> Vec<StoredMessage> {
        let (from, to) = Key::parked(transaction);
        let parked = self.state.range(from, to);
        let parked: Vec<StoredMessage> = parked.filter_map(|(_, v)| v.message().cloned()).collect();
        for message in &parked {
            self.state.delete(Key::Parked(transaction, message.request));
        }
        parked
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
            request: NO_REQUEST,
            body,
            payload: Payload::empty(),
        };
        self.state.put(Key::Outbox(to, number), message);
        self.state.put(Key::OutboxChannel(to), channel);
        self.caused.push((to, number));
        self.send_numbered(to, channel.receiver, number, change);
    }

    /// Lets the reply of the present request leave without waiting for the messages that it caused.
    pub fn reply_at_once(&mut self) {
        self.caused.clear();
    }
}
