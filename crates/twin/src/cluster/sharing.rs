//! The messages between clients that share their caches.

use super::Defect;
use futago_base::{Payload, SessionId};
use futago_wire::{Body, CacheReply, CacheRequest, Frame, Header, MessageKind};
use std::collections::BTreeMap;
use std::task::{Poll, Waker};

/// The answer to a request of a client.
type Answer = (CacheReply, Payload);

/// The requests of one client to others, and its answers to them.
#[derive(Default)]
pub(super) struct Sharing {
    /// Whether the client shares its cache.
    pub is_on: bool,
    /// Messages to send.
    sent: Vec<(SessionId, Frame)>,
    /// The requests, the clients that were asked, and the tasks that wait for an answer.
    waiting: BTreeMap<u64, (CacheRequest, SessionId, Option<Waker>)>,
    /// How many messages of each client have arrived.
    heard: BTreeMap<SessionId, u64>,
    answers: BTreeMap<u64, Answer>,
    /// The number of the last request.
    last: u64,
    /// The copies that this client has sent before, for a defect.
    former: Vec<(CacheRequest, Payload)>,
}

impl Sharing {
    /// Sends a request; returns its number.
    pub fn ask(
        &mut self,
        from: SessionId,
        to: SessionId,
        request: CacheRequest,
        defect: Option<Defect>,
    ) -> u64 {
        self.last += 1;
        if defect == Some(Defect::TakesFormerCopies) {
            self.take_former(&request);
        }
        let body = Body::CacheRequest(request.clone());
        self.sent
            .push((to, message(from, self.last, body, Payload::empty())));
        self.waiting.insert(self.last, (request, to, None));
        self.last
    }

    /// The answer to an earlier request answers the next one of the same kind.
    fn take_former(&mut self, request: &CacheRequest) {
        let is_same = |(number, _): &(&u64, &Answer)| {
            let asked = self.waiting.get(number).map(|(asked, ..)| asked);
            asked.is_some_and(|asked| is_about_the_same(asked, request))
        };
        let former = self.answers.iter().find(is_same);
        if let Some((_, answer)) = former {
            self.answers.insert(self.last, answer.clone());
        }
    }

    pub fn poll_answer(&mut self, number: u64, waker: &Waker) -> Poll<Answer> {
        // It stays, for a defect.
        if let Some(answer) = self.answers.get(&number) {
            return Poll::Ready(answer.clone());
        }
        if let Some((.., waiting)) = self.waiting.get_mut(&number) {
            *waiting = Some(waker.clone());
        }
        Poll::Pending
    }

    /// An answer has come.
    pub fn receive(&mut self, frame: Frame) {
        let Body::CacheReply(reply) = frame.body else {
            return;
        };
        let number = frame.header.sequence;
        if let Some((_, from, waiting)) = self.waiting.get_mut(&number) {
            *self.heard.entry(*from).or_default() += 1;
            if reply == CacheReply::Coming {
                return;
            }
            self.answers.insert(number, (reply, frame.payload));
            waiting.take().into_iter().for_each(Waker::wake);
        }
    }

    /// How many messages of another client have arrived.
    pub fn heard_of(&self, session: SessionId) -> u64 {
        self.heard.get(&session).copied().unwrap_or_default()
    }

    /// Says to another client that the answer is coming.
    pub fn delay(&mut self, to: SessionId, number: u64) {
        let body = Body::CacheReply(CacheReply::Coming);
        self.sent
            .push((to, message(to, number, body, Payload::empty())));
    }

    /// Answers another client.
    pub fn answer(
        &mut self,
        to: SessionId,
        number: u64,
        request: CacheRequest,
        (mut reply, mut data): Answer,
        defect: Option<Defect>,
    ) {
        let is_copy = matches!(reply, CacheReply::Read { .. });
        if is_copy && defect == Some(Defect::SendsFormerCopies) {
            data = self.former_copy(request, data);
            reply = CacheReply::of(&data);
        }
        let body = Body::CacheReply(reply);
        self.sent.push((to, message(to, number, body, data)));
    }

    /// The first answer of this client to such a request.
    fn former_copy(&mut self, request: CacheRequest, data: Payload) -> Payload {
        let mut former = self.former.iter();
        if let Some((_, former)) = former.find(|(it, _)| is_about_the_same(it, &request)) {
            return former.clone();
        }
        if !data.is_empty() {
            self.former.push((request, data.clone()));
        }
        data
    }

    /// The messages to send since the last call.
    pub fn take_sent(&mut self) -> Vec<(SessionId, Frame)> {
        std::mem::take(&mut self.sent)
    }
}

/// Whether two requests begin at the same place of a file.
fn is_about_the_same(one: &CacheRequest, other: &CacheRequest) -> bool {
    let place = |request: &CacheRequest| match request {
        CacheRequest::Read { file, offset, .. } => Some((*file, *offset)),
        _ => None,
    };
    place(one) == place(other)
}

fn message(session: SessionId, number: u64, body: Body, payload: Payload) -> Frame {
    let header = Header {
        session,
        sequence: number,
        ..Header::new(MessageKind::CacheRequest)
    };
    Frame {
        header: Header {
            kind: body.kind(),
            ..header
        },
        body,
        payload,
    }
}
