//! One decision in the making: from an input to a batch and outputs.

use crate::answer::{self, Answer, Refusal};
use crate::{Decision, Output, Server, TransactionCounts, operations};
use alloc::vec::Vec;
use bytes::Bytes;
use futago_base::{
    BucketStart, Errno, FileId, Key, Moment, Overlay, Payload, RequestId, ServerId, SessionId,
    Time, TransactionId, Value, View,
    record::{HeldReply, Sort, StoredMessage},
};
use futago_wire::{Failure, Outcome, PeerChange, Request, codec};

pub struct Turn<'a, V> {
    pub server: &'a Server,
    /// By which leases and timeouts are measured.
    pub now: Time,
    /// With which files are stamped.
    pub stamp: Time,
    pub state: Overlay<'a, V>,
    /// The request that is being served.
    pub request: RequestId,
    /// Whether the client that asks takes leases.
    pub leases: bool,
    /// Nodes on which nobody has a lease any more, or to which less is being appended: the requests
    /// that waited for that run again.
    pub given_back: Vec<FileId>,
    /// Buckets that have got new entries, to be split if they are too large.
    pub grown: Vec<(FileId, BucketStart)>,
    pub transactions: TransactionCounts,
    outputs: Vec<Output>,
    /// The messages to other servers that the present request has caused: its reply waits for them.
    caused: Vec<(ServerId, u64)>,
    /// Transactions that were resolved: the requests that waited for them run again.
    resolved: Vec<TransactionId>,
}

/// The file data that goes with a message.
fn data_bytes(output: &Output) -> u64 {
    match output {
        Output::Answer { payload, .. } => payload.len() as u64,
        Output::Push { .. } | Output::Peer { .. } | Output::PeerAnswer { .. } => 0,
    }
}

/// A request that is to run later, as it is kept until then.
pub fn stored(id: RequestId, request: &Request, payload: &Payload) -> StoredMessage {
    StoredMessage {
        request: id,
        body: codec::encode(request),
        payload: payload.clone(),
    }
}

/// What has no client.
pub const NO_REQUEST: RequestId = RequestId {
    session: SessionId(0),
    sequence: 0,
};

impl<'a, V: View> Turn<'a, V> {
    pub fn new(server: &'a Server, state: Overlay<'a, V>, now: Moment) -> Self {
        Self {
            server,
            now: now.steady,
            stamp: now.stamp,
            state,
            request: NO_REQUEST,
            leases: false,
            given_back: Vec::new(),
            grown: Vec::new(),
            transactions: TransactionCounts::default(),
            outputs: Vec::new(),
            caused: Vec::new(),
            resolved: Vec::new(),
        }
    }

    /// The decision, after a request was handled or something else.
    pub fn decide(mut self, handled: Option<RequestId>) -> Decision {
        self.split_grown();
        let waits_for_clients =
            handled.is_some_and(|id| !self.answers(id) && self.waits_for_clients(id));
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

    fn answers(&self, id: RequestId) -> bool {
        let is_answer =
            |output: &Output| matches!(output, Output::Answer { request, .. } if *request == id);
        self.outputs.iter().any(is_answer)
    }

    pub fn output(&mut self, output: Output) {
        self.outputs.push(output);
    }

    /// A request has arrived: it is served unless it is a copy of one that was.
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
            Some(saved) => self.answer_saved(id, &saved),
            None => self.serve(id, request, payload),
        }
    }

    /// Whether an earlier copy of the request is still waiting for something.
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

    fn answer_saved(&mut self, id: RequestId, saved: &Bytes) {
        let outcome = codec::decode(saved).unwrap_or(Err(Failure::Errno(Errno::EIO)));
        self.answer(id, outcome, Payload::empty());
    }

    pub fn answer(&mut self, request: RequestId, outcome: Outcome, payload: Payload) {
        self.output(Output::Answer {
            request,
            outcome,
            payload,
        });
    }

    fn serve(&mut self, id: RequestId, request: &Request, payload: &Payload) {
        let before = self.state.savepoint();
        let outputs = self.outputs.len();
        let transactions = self.transactions;
        let given_back = self.given_back.len();
        self.request = id;
        self.caused.clear();
        let result = self.run_operation(request, payload);
        if result.is_err() && !matches!(result, Err(Refusal::Waits)) {
            self.state.restore(before);
            self.outputs.truncate(outputs);
            self.given_back.truncate(given_back);
            self.transactions = transactions;
            self.caused.clear();
        }
        match result {
            Ok(Answer { reply, payload }) => self.conclude(id, request, Ok(reply), payload),
            Err(Refusal::Failure(failure)) => {
                self.conclude(id, request, Err(failure), Payload::empty());
            }
            Err(Refusal::Conflict(other)) => self.park(other, id, request, payload),
            Err(Refusal::Leased(nodes)) => self.await_recall(&nodes, id, request, payload),
            Err(Refusal::Appended(file)) => self.await_node(file, id, request, payload),
            Err(Refusal::Waits) => {}
        }
    }

    /// Runs an operation. What it changes must fit, and others must not have leases on it.
    fn run_operation(&mut self, request: &Request, payload: &Payload) -> answer::Result {
        let mut answer = operations::run(self, request, payload)?;
        if operations::grows(request) && !self.state.fits() {
            return Err(Errno::ENOSPC.into());
        }
        let mut leased = self.changed_under_leases(request);
        if self.leases {
            self.tell_changed(request, &mut answer.reply);
        }
        leased.extend(self.told_under_exclusive_leases(request, &answer.reply));
        if !leased.is_empty() {
            return Err(Refusal::Leased(leased));
        }
        if self.leases {
            self.lease_all(&mut answer.reply);
        }
        operations::create::open(self, request, &answer.reply);
        Ok(answer)
    }

    /// Saves the outcome if the request may have an effect, and answers, now or when the messages
    /// that it caused have arrived.
    ///
    /// A failure is saved too: a late copy of the request must not succeed after the caller was
    /// told that it failed.
    fn conclude(&mut self, id: RequestId, request: &Request, outcome: Outcome, payload: Payload) {
        let retried_as_it_is = outcome == Err(Failure::Busy);
        if operations::may_have_effect(request) && !retried_as_it_is {
            self.save_reply(id, &outcome);
        }
        if self.caused.is_empty() {
            return self.answer(id, outcome, payload);
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

    /// Gives the answer to a request that had to wait, and saves it.
    pub fn answer_late(&mut self, id: RequestId, outcome: Outcome) {
        self.save_reply(id, &outcome);
        self.answer(id, outcome, Payload::empty());
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
            self.answer_saved(id, &saved);
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
        self.press(transaction, other);
    }

    /// Sends the requests that wait for a transaction away, to come again later: nothing has happened.
    pub fn turn_parked_away(&mut self, transaction: TransactionId) {
        let (from, to) = Key::parked(transaction);
        let parked: Vec<RequestId> = self
            .state
            .range(from, to)
            .filter_map(|(_, value)| value.message().map(|message| message.request))
            .collect();
        for request in parked {
            self.state.delete(Key::Parked(transaction, request));
            self.answer(request, Err(Failure::Busy), Payload::empty());
        }
    }

    /// Remembers that a transaction is resolved.
    pub fn unpark_after(&mut self, transaction: TransactionId) {
        self.resolved.push(transaction);
    }

    /// Runs the requests whose transactions were resolved, and those for which leases were given back; that
    /// may free further ones.
    pub fn run_unparked(&mut self) {
        loop {
            let freed = match (self.resolved.pop(), self.given_back.pop()) {
                (None, None) => return,
                (transaction, node) => {
                    let parked = transaction.map(|id| self.take_parked(id));
                    let awaiting = node.map(|node| self.take_awaiting(node));
                    parked.into_iter().chain(awaiting).flatten()
                }
            };
            for message in freed {
                self.run_freed(&message);
            }
        }
    }

    fn run_freed(&mut self, message: &StoredMessage) {
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
        // A later message does not restart the timer, or a lost one would wait for silence.
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

    /// Says that the present request's reply need not wait for the messages that it caused.
    pub fn answer_at_once(&mut self) {
        self.caused.clear();
    }
}
