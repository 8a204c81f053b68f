//! A server: the real core over a memory store.

use super::{Defect, clock::WallClock, defect::Cause};
use crate::check::heard_of;
use futago_base::{
    ClusterMap, Duration, FileId, Incarnation, Moment, Payload, RequestId, ServerId, SessionId,
    Time,
};
use futago_driver::{Admission, AdmissionConfig, HybridClock};
use futago_server::{Config, Decision, Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::{Body, Failure, Frame, Header, MessageKind, header::features};
use std::collections::BTreeSet;

/// The receiver of a server's message.
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
    /// Its store.
    pub store: MemoryStore,
    memory_bytes: u64,
    /// Whether it runs.
    is_up: bool,
    /// Files of which it has noted something about truncations that is not checked yet.
    pub unchecked: BTreeSet<FileId>,
    defect: Option<Defect>,
    /// How far its clock is ahead of the true time.
    pub clock_ahead: Duration,
    /// Its wall clock, as far as it has stepped.
    pub wall: WallClock,
    stamps: HybridClock,
    decided: HybridClock,
    admission_config: AdmissionConfig,
    admission: Admission,
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
        Self {
            store: first_store(&server, memory_bytes, Time(0)),
            server,
            memory_bytes,
            is_up: true,
            unchecked: BTreeSet::new(),
            defect,
            clock_ahead: Duration(0),
            wall: WallClock::default(),
            stamps: HybridClock::default(),
            decided: HybridClock::default(),
            admission_config: AdmissionConfig::default(),
            admission: Admission::new(AdmissionConfig::default()),
        }
    }

    /// It takes on no more requests at a time than this.
    pub fn limit_requests(&mut self, config: AdmissionConfig) {
        self.admission_config = config;
        self.admission = Admission::new(config);
    }

    /// Nobody waits for the answers to a session's requests any more.
    pub fn disconnect(&mut self, session: SessionId) {
        self.admission.forget(session);
    }

    /// It stops: it hears nothing until it begins a new life.
    pub const fn stop(&mut self) {
        self.is_up = false;
    }

    /// Begins a new life with an empty store; returns what the last one held.
    pub fn begin_life(&mut self, drawn: Incarnation, now: Time) -> MemoryStore {
        let last = self.server.incarnation();
        let begun = self.defect.map(|defect| defect.alter_life(last, drawn));
        self.server = self.server.clone().in_life(begun.unwrap_or(drawn));
        self.is_up = true;
        (self.stamps, self.decided) = (HybridClock::default(), HybridClock::default());
        self.admission = Admission::new(self.admission_config);
        let now = self.wall.moment(now + self.clock_ahead);
        let store = first_store(&self.server, self.memory_bytes, now);
        std::mem::replace(&mut self.store, store)
    }

    /// Handles a message and returns what is to be sent.
    pub fn receive(&mut self, frame: Frame, now: Time) -> Vec<(Receiver, Frame)> {
        if !self.is_up {
            return Vec::new();
        }
        let now = self.wall.moment(now + self.clock_ahead);
        self.stamps.observe(frame.header.clock, now.stamp);
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
                self.admit(input, now)
            }
            Body::Peer(message) => self.handle(Input::Peer(message), now),
            Body::PeerAnswer(answer) => self.handle(Input::PeerAnswer(answer), now),
            Body::Outcome(_) | Body::Push(_) => Vec::new(),
        }
    }

    /// Does what is due and returns what is to be sent.
    pub fn tick(&mut self, now: Time) -> Vec<(Receiver, Frame)> {
        if !self.is_up {
            return Vec::new();
        }
        self.handle(Input::Tick, self.wall.moment(now + self.clock_ahead))
    }

    /// Decides about a request, unless too many are under way.
    fn admit(&mut self, input: Input, now: Moment) -> Vec<(Receiver, Frame)> {
        let Input::Request { id, request, .. } = &input else {
            return Vec::new();
        };
        let id = *id;
        if !self.admission.admit(id, request) {
            return vec![busy(id, now)];
        }
        let now = self.decided_at(now);
        let decision = self.decide(input, now);
        if decision.waits_for_clients && !self.admission.may_wait(id) {
            return vec![busy(id, now)];
        }
        self.perform(decision, now)
    }

    fn handle(&mut self, input: Input, now: Moment) -> Vec<(Receiver, Frame)> {
        let now = self.decided_at(now);
        let decision = self.decide(input, now);
        self.perform(decision, now)
    }

    /// The time of a decision, later than that of every one before.
    fn decided_at(&mut self, now: Moment) -> Moment {
        let moment = Moment {
            steady: self.decided.advance(now.steady),
            stamp: self.stamps.advance(now.stamp),
        };
        let altered = self.defect.map(|defect| defect.alter_moment(moment, now));
        altered.unwrap_or(moment)
    }

    fn decide(&self, input: Input, now: Moment) -> Decision {
        match self.defect {
            None => self.server.handle(&self.store, input, now),
            Some(defect) => self.decide_wrongly(defect, input, now),
        }
    }

    /// Makes the change, and returns what is to be sent.
    fn perform(&mut self, decision: Decision, now: Moment) -> Vec<(Receiver, Frame)> {
        let Decision { batch, outputs, .. } = decision;
        let noted = batch.records.iter();
        let noted = noted.filter_map(|(key, value)| heard_of(key, value.as_ref()));
        self.unchecked.extend(noted);
        self.store.apply(batch);
        for output in &outputs {
            self.note_answer(output);
        }
        let sent = outputs.into_iter().map(|output| message(output, now.stamp));
        let spoil = |(to, mut frame): (Receiver, Frame)| {
            if let Some(defect) = self.defect {
                defect.alter_sent(&mut frame);
            }
            (to, frame)
        };
        sent.map(spoil).collect()
    }

    fn note_answer(&mut self, output: &Output) {
        if let Output::Reply { request, .. } = output
            && self.defect != Some(Defect::NeverReadmits)
        {
            self.admission.answered(*request);
        }
    }

    fn decide_wrongly(&self, defect: Defect, mut input: Input, now: Moment) -> Decision {
        defect.alter_lives(&mut input, self.server.incarnation());
        defect.alter_input(&mut input, &self.store);
        let cause = Cause::of(&input);
        let returned = defect.returns_at_once(&input, self.server.id());
        let view = defect.view(&self.store, &input);
        let mut decision = self.server.handle(&view, input, now);
        decision.outputs.extend(returned);
        defect.alter_batch(&mut decision.batch, cause, &self.store);
        decision
    }
}

/// The answer to a request that is one too many.
fn busy(request: RequestId, now: Moment) -> (Receiver, Frame) {
    let busy = Output::Reply {
        request,
        outcome: Err(Failure::Busy),
        payload: Payload::empty(),
    };
    message(busy, now.stamp)
}

/// The store of a server that begins a life.
fn first_store(server: &Server, memory_bytes: u64, now: impl Into<Moment>) -> MemoryStore {
    let mut store = MemoryStore::new(memory_bytes);
    store.apply(server.genesis(&store, now));
    store
}

/// An output as it goes over the network.
fn message(output: Output, clock: Time) -> (Receiver, Frame) {
    let (receiver, header, body, payload) = match output {
        Output::Reply {
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
