//! A server: the real core over a memory store.

use super::{Defect, defect::Cause};
use futago_base::{Batch, ClusterMap, Duration, Payload, RequestId, ServerId, SessionId, Time};
use futago_driver::HybridClock;
use futago_server::{Config, Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::{Body, Frame, Header, MessageKind, header::features};

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
    defect: Option<Defect>,
    /// How far its clock is ahead of the true time.
    pub clock_ahead: Duration,
    clock: HybridClock,
}

impl ServerNode {
    /// A new server with so much memory, and perhaps a defect.
    pub fn new(
        id: ServerId,
        map: &ClusterMap,
        config: &Config,
        memory_bytes: u64,
        defect: Option<Defect>,
    ) -> Self {
        let mut config = config.clone();
        if let Some(defect) = defect {
            defect.alter_server(&mut config);
        }
        let server = Server::new(id, map.clone(), config);
        let mut store = MemoryStore::new(memory_bytes);
        store.apply(server.genesis(&store, Time(0)));
        Self {
            server,
            store,
            defect,
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
        let (batch, outputs) = match self.defect {
            None => {
                let decision = self.server.handle(&self.store, input, now);
                (decision.batch, decision.outputs)
            }
            Some(defect) => self.decide_wrongly(defect, input, now),
        };
        self.store.apply(batch);
        let sent = outputs.into_iter().map(|output| message(output, now));
        let spoil = |(to, mut frame): (Receiver, Frame)| {
            if let Some(defect) = self.defect {
                defect.alter_sent(&mut frame);
            }
            (to, frame)
        };
        sent.map(spoil).collect()
    }

    fn decide_wrongly(&self, defect: Defect, mut input: Input, now: Time) -> (Batch, Vec<Output>) {
        defect.alter_input(&mut input, &self.store);
        let cause = Cause::of(&input);
        let view = defect.view(&self.store, &input);
        let mut decision = self.server.handle(&view, input, now);
        defect.alter_batch(&mut decision.batch, cause, &self.store);
        (decision.batch, decision.outputs)
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
