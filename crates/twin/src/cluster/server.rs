//! A server: the real core over a memory store.

use futago_base::{
    Batch, ClusterMap, Duration, Key, Payload, RequestId, ServerId, SessionId, Time, Value,
    record::Truncations,
};
use futago_driver::HybridClock;
use futago_server::{Config, Decision, Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::{Body, Frame, Header, MessageKind, header::features};

/// What a server is made to do wrong, so that checks can be tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    #[default]
    None,
    /// It does not remember what it has answered.
    ForgetsReplies,
    /// It does not see who is about to change something.
    ForgetsLocators,
    /// It does not confirm what it has got from other servers.
    ForgetsInbox,
    /// It goes on taking chunks of files that are gone.
    KeepsAdmissions,
    /// It does not remember that files were truncated.
    ForgetsShrinkings,
    /// It does not remember who has leases.
    ForgetsLeases,
    /// It does not remember who may have changed files without its knowing.
    ForgetsExclusiveLeases,
}

/// Whom a server's message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// The client whose session it is.
    Session(SessionId),
    /// Another server.
    Server(ServerId),
}

/// A server and what it holds.
pub struct ServerNode {
    server: Server,
    /// What it holds.
    pub store: MemoryStore,
    /// What it does wrong.
    pub defect: Defect,
    /// How far its clock is ahead of the true time.
    pub clock_ahead: Duration,
    clock: HybridClock,
}

impl ServerNode {
    /// A new server with so much memory.
    pub fn new(id: ServerId, map: &ClusterMap, config: &Config, memory_bytes: u64) -> Self {
        let server = Server::new(id, map.clone(), config.clone());
        let mut store = MemoryStore::new(memory_bytes);
        store.apply(server.genesis(&store, Time(0)));
        Self {
            server,
            store,
            defect: Defect::None,
            clock_ahead: Duration(0),
            clock: HybridClock::default(),
        }
    }

    /// Handles a message and returns what is to be sent.
    pub fn receive(&mut self, frame: Frame, now: Time) -> Vec<(Receiver, Frame)> {
        let now = now + self.clock_ahead;
        self.clock.observe(frame.header.clock, now);
        match frame.body {
            Body::Request(request) => {
                let input = Input::Request {
                    id: RequestId {
                        session: frame.header.session,
                        sequence: frame.header.sequence,
                    },
                    acknowledged: frame.header.acknowledged,
                    request,
                    payload: frame.payload,
                    leases: frame.header.features & features::LEASES != 0,
                    introduces: frame.header.features & features::INTRODUCES != 0,
                };
                self.decide(input, now)
            }
            Body::Peer(message) => self.decide(Input::Peer(message), now),
            Body::PeerAnswer(answer) => self.decide(Input::PeerAnswer(answer), now),
            Body::Outcome(_) | Body::Push(_) => Vec::new(),
        }
    }

    /// Does what is due and returns what is to be sent.
    pub fn tick(&mut self, now: Time) -> Vec<(Receiver, Frame)> {
        self.decide(Input::Tick, now + self.clock_ahead)
    }

    fn decide(&mut self, input: Input, now: Time) -> Vec<(Receiver, Frame)> {
        let now = self.clock.advance(now);
        let decision = self.server.handle(&self.store, input, now);
        let Decision {
            mut batch, outputs, ..
        } = decision;
        spoil(&mut batch, self.defect);
        self.store.apply(batch);
        outputs
            .into_iter()
            .map(|output| message(output, now))
            .collect()
    }
}

/// An output as it goes over the network.
fn message(output: Output, clock: Time) -> (Receiver, Frame) {
    let (receiver, header, body, payload) = match output {
        Output::Answer {
            request,
            outcome,
            payload,
        } => {
            let header = Header {
                session: request.session,
                sequence: request.sequence,
                ..Header::new(MessageKind::Outcome)
            };
            let receiver = Receiver::Session(request.session);
            (receiver, header, Body::Outcome(outcome), payload)
        }
        Output::Push { session, push } => {
            let header = Header {
                session,
                ..Header::new(MessageKind::Push)
            };
            let receiver = Receiver::Session(session);
            (receiver, header, Body::Push(push), Payload::empty())
        }
        Output::Peer { to, message } => (
            Receiver::Server(to),
            Header::new(MessageKind::Peer),
            Body::Peer(message),
            Payload::empty(),
        ),
        Output::PeerAnswer { to, answer } => (
            Receiver::Server(to),
            Header::new(MessageKind::PeerAnswer),
            Body::PeerAnswer(answer),
            Payload::empty(),
        ),
    };
    let header = Header { clock, ..header };
    let frame = Frame {
        header,
        body,
        payload,
    };
    (receiver, frame)
}

fn spoil(batch: &mut Batch, defect: Defect) {
    let forgotten = |key: &Key| match defect {
        Defect::None | Defect::KeepsAdmissions | Defect::ForgetsShrinkings => false,
        Defect::ForgetsReplies => matches!(key, Key::Reply(_)),
        Defect::ForgetsLocators => matches!(key, Key::Locator(_)),
        Defect::ForgetsInbox => matches!(key, Key::Inbox(_)),
        Defect::ForgetsLeases => matches!(key, Key::Lease(..)),
        Defect::ForgetsExclusiveLeases => matches!(key, Key::Exclusive(_)),
    };
    batch
        .records
        .retain(|(key, value)| value.is_none() || !forgotten(key));
    for (key, value) in &mut batch.records {
        match (defect, key, value) {
            (Defect::KeepsAdmissions, Key::Admitted(_), value @ None) => {
                *value = Some(Value::Number(0));
            }
            (Defect::ForgetsShrinkings, Key::Inode(_), Some(Value::Inode(inode))) => {
                inode.truncations = Truncations::default();
            }
            _ => {}
        }
    }
}
