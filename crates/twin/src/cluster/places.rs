//! Checks after every message that a server has no more requests under way than it may, and that
//! nothing is left of a refused one. It counts by itself what arrives and what is answered.

use futago_base::{
    Key, RequestId, SessionId, Value, View,
    record::{SessionState, Waiter},
};
use futago_driver::{AdmissionConfig, is_express};
use futago_server::Output;
use futago_store::MemoryStore;
use futago_wire::{Body, Failure, Frame};
use std::collections::BTreeMap;

/// The requests that are under way at a server.
pub struct Places {
    config: AdmissionConfig,
    /// The requests, and whether they bypass the window.
    requests: BTreeMap<RequestId, bool>,
    /// Mistakes, one line each.
    pub mistakes: Vec<String>,
}

/// The request of a message.
pub fn request_of(frame: &Frame) -> Option<RequestId> {
    let id = RequestId {
        session: frame.header.session,
        sequence: frame.header.sequence,
    };
    matches!(frame.body, Body::Request(_)).then_some(id)
}

/// Whether a request waits at a server.
fn waits(store: &MemoryStore, id: RequestId) -> bool {
    store.get(&Key::Waiting(Waiter::Request(id))).is_some()
}

/// Whether a server has records of a request.
pub fn is_known(store: &MemoryStore, id: RequestId) -> bool {
    let keys = [Key::Reply(id), Key::HeldReply(id)];
    waits(store, id) || keys.iter().any(|key| store.get(key).is_some())
}

impl Places {
    pub const fn new(config: AdmissionConfig) -> Self {
        Self {
            config,
            requests: BTreeMap::new(),
            mistakes: Vec::new(),
        }
    }

    /// A message arrives.
    pub fn arrive(&mut self, frame: &Frame) {
        if let (Some(id), Body::Request(request)) = (request_of(frame), &frame.body) {
            self.requests.entry(id).or_insert(is_express(request));
        }
    }

    /// Replies leave.
    pub fn leave(&mut self, outputs: &[Output]) {
        for output in outputs {
            if let Output::Reply { request, .. } = output {
                self.requests.remove(request);
            }
        }
    }

    /// No client waits for the replies of a session any more.
    pub fn forget(&mut self, session: SessionId) {
        self.requests.retain(|id, _| id.session != session);
    }

    /// The server has stopped, and knows nothing of requests that were under way.
    pub fn clear(&mut self) {
        self.requests.clear();
    }

    /// Forgets requests of sessions that the server has given up: they get no replies.
    fn forget_given_up(&mut self, store: &MemoryStore) {
        let is_given_up = |session| {
            let known = store.get(&Key::Session(session)).and_then(Value::session);
            known.is_some_and(|known| known.state != SessionState::Living)
        };
        self.requests.retain(|id, _| !is_given_up(id.session));
    }

    /// Checks how many places the server regards as taken.
    pub fn check_taken(&mut self, taken: u32, store: &MemoryStore) {
        self.forget_given_up(store);
        let requests = self.requests.len();
        if taken as usize > requests {
            let text = format!("{taken} places are taken by {requests} requests");
            self.mistakes.push(text);
        }
    }

    /// Checks the places after a request has been handled, of which the server had records before
    /// or not.
    pub fn check(
        &mut self,
        id: RequestId,
        was_known: bool,
        outputs: &[Output],
        store: &MemoryStore,
    ) {
        let is_refusal = |output: &Output| {
            let refused = Err(Failure::Busy);
            matches!(output, Output::Reply { request, outcome, .. } if *request == id && *outcome == refused)
        };
        if !was_known && outputs.iter().any(is_refusal) && is_known(store, id) {
            let text = format!("something is left of request {id:?}, which was refused");
            self.mistakes.push(text);
        }
        if self.requests.get(&id) == Some(&false) {
            self.check_numbers(id, store);
        }
    }

    fn check_numbers(&mut self, id: RequestId, store: &MemoryStore) {
        let windowed = self.requests.iter().filter(|(_, express)| !**express);
        let windowed: Vec<RequestId> = windowed.map(|(id, _)| *id).collect();
        let most = self.config;
        self.check_number("under way", &windowed, id.session, most);
        if waits(store, id) {
            let waiting = windowed.into_iter().filter(|id| waits(store, *id));
            let waiting: Vec<RequestId> = waiting.collect();
            let most = AdmissionConfig {
                session_max: half(most.session_max),
                total_max: half(most.total_max),
                ..most
            };
            self.check_number("waiting", &waiting, id.session, most);
        }
    }

    fn check_number(
        &mut self,
        what: &str,
        requests: &[RequestId],
        session: SessionId,
        most: AdmissionConfig,
    ) {
        let own = requests.iter().filter(|id| id.session == session).count();
        let counts = [
            (own, most.session_max, " of one client"),
            (requests.len(), most.total_max, ""),
        ];
        for (count, most, whose) in counts {
            if count > most as usize {
                let text = format!("{count} requests {what}{whose}, not {most}");
                self.mistakes.push(text);
            }
        }
    }
}

/// How many of `most` requests may wait for other clients.
fn half(most: u32) -> u32 {
    (most / 2).max(1)
}
