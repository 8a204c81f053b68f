//! Requests between clients that read from each other's caches.

use super::leaves::{Asked, Copied};
use super::task::{Incoming, Tools, serve_idle};
use super::undo::ClientUndo;
use super::{ClientProcess, Task};
use crate::world::host::Moment;
use crate::world::message::{Content, Message, Party};
use crate::world::scene::{engine_ns, wall};
use futago_base::{Payload, RequestId, Time};
use futago_wire::{
    CacheReply, CacheRequest,
    cache::{BLOCK_BYTES, PIECE_BYTES},
};
use serde::Serialize;
use std::sync::Arc;

/// A client says this often that a copy is coming.
const COMING_AFTER_NS: u64 = 100_000_000;
/// The sum of every block. It is not verified, so only its length counts.
const SUM: u64 = u64::MAX;

/// A request of another client that has no answer yet.
#[derive(Clone, Debug, Serialize)]
pub struct Parked {
    /// The client that sent it.
    from: Party,
    id: RequestId,
    pub request: CacheRequest,
    /// When this client had received it.
    received_ns: u64,
    /// Since when the answer waits for what this client has planned to read.
    pub waits_since: Option<Time>,
    /// When the answer is due without another event.
    pub wake: Option<Time>,
    /// When the other client is notified that the answer is coming.
    coming_ns: u64,
}

/// A request, and the data for it.
pub struct Ready {
    pub request: Parked,
    pub data: Payload,
}

impl Parked {
    /// When something is due for it.
    pub fn due_ns(&self) -> u64 {
        let wake_ns = self.wake.map_or(u64::MAX, engine_ns);
        wake_ns.min(self.coming_ns)
    }
}

impl ClientProcess {
    /// Another client asks for data. A thread apart answers, so the client's operation goes on.
    pub(super) fn receive_request(
        &mut self,
        message: &Message,
        (id, request): (RequestId, &CacheRequest),
        at: &mut Moment<'_>,
        undo: Option<&mut ClientUndo>,
    ) {
        let began_ns = at.ns;
        self.take_in(message, 0, at);
        self.parked.push(Parked {
            received_ns: at.ns,
            from: message.from,
            id,
            request: request.clone(),
            waits_since: None,
            wake: None,
            coming_ns: at.ns + COMING_AFTER_NS,
        });
        return_to(began_ns, at);
        self.finish(at, undo);
    }

    /// Another client has answered.
    pub(super) fn receive_copy(
        &mut self,
        message: &Message,
        (id, reply): (RequestId, &CacheReply),
        at: &mut Moment<'_>,
        mut undo: Option<&mut ClientUndo>,
    ) {
        at.ns = at.ns.max(self.state.free_ns);
        self.take_in(message, 0, at);
        self.state.free_ns = at.ns;
        if id.session == self.calls.session() {
            let copied = Copied {
                sequence: id.sequence,
                reply: reply.clone(),
                payload: message.payload.clone(),
            };
            let incoming = Incoming::Copied(Box::new(copied));
            self.answered(incoming, at, undo.as_deref_mut());
        }
        self.go_on(at, undo);
    }

    /// Sends requests of the client's operation to other clients.
    pub(super) fn ask_clients(&mut self, asked: Vec<Asked>, at: &mut Moment<'_>) {
        for Asked {
            to,
            sequence,
            request,
        } in asked
        {
            let id = RequestId {
                session: self.calls.session(),
                sequence,
            };
            let content = Content::CacheRequest { id, request };
            self.send_to_client(Party::of_session(to), content, Payload::empty(), at);
            self.state.free_ns = self.state.free_ns.max(at.ns);
        }
    }

    /// Answers the other clients that can be answered, and notifies those that wait for long.
    pub(super) fn serve(&mut self, at: &mut Moment<'_>) {
        let now = self.calls.clock(wall(at.ns));
        let mut asked = Vec::new();
        let tools = Tools {
            client: self.number,
            map: &at.scene.map,
            config: self.config(at.scene),
            setup: &at.scene.setup,
            host: at.scene.sharing_host(self.number),
            calls: &mut self.calls,
            memory: &mut self.memory,
            asked: &mut asked,
        };
        let ready = match &mut self.task {
            Some(task) => Task::serve(task, now, &mut self.parked, tools),
            None => serve_idle(now, &mut self.parked, tools),
        };
        for Ready { request, data } in ready {
            let sums = vec![SUM; data.len().div_ceil(BLOCK_BYTES as usize)];
            self.reply(&request, CacheReply::Read { sums }, data, at);
        }
        self.notify_waiting(at);
    }

    fn notify_waiting(&mut self, at: &mut Moment<'_>) {
        for place in 0..self.parked.len() {
            if self.parked[place].coming_ns <= at.ns {
                self.parked[place].coming_ns = at.ns + COMING_AFTER_NS;
                let request = self.parked[place].clone();
                self.reply(&request, CacheReply::Coming, Payload::empty(), at);
            }
        }
    }

    /// Answers another client. That takes a core, and no time of the client's own thread.
    fn reply(&self, to: &Parked, reply: CacheReply, data: Payload, at: &mut Moment<'_>) {
        debug_assert!(data.len() as u64 <= PIECE_BYTES);
        let began_ns = at.ns;
        at.ns = at.ns.max(to.received_ns);
        let content = Content::CacheReply { id: to.id, reply };
        self.send_to_client(to.from, content, data, at);
        return_to(began_ns, at);
    }

    fn send_to_client(&self, to: Party, content: Content, data: Payload, at: &mut Moment<'_>) {
        let messages = at.client_messages(to);
        let request_ns = at.dear(at.scene.setup.costs.client.other_request_ns);
        let sent = data.len();
        at.occupy_and_copy(request_ns + messages.byte_sent_ns * sent as f64, sent);
        let put_in = at.put_in(to, sent, messages.byte_sent_ns);
        let found_from_ns = put_in.map_or(at.ns, |put_in| put_in.from_ns);
        let message = Message {
            from: Party::Client(self.number),
            to,
            clock: Time(0),
            content,
            payload: data,
            put_in,
        };
        at.out.messages.push((found_from_ns, Arc::new(message)));
    }
}

/// Another thread has worked, unless the process has only the core that it runs on.
const fn return_to(began_ns: u64, at: &mut Moment<'_>) {
    if !at.has_core {
        at.ns = began_ns;
    }
}
