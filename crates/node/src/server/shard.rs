//! One server: its core, its store and its clock, and the handling of messages.

use super::connections::{ConnectionId, Connections, Origin};
use super::peers::{Peers, Siblings};
use super::status::{Counters, Status};
use super::waiting::Waiting;
use crate::{Clock, Cluster, clock::AwakeTime};
use bytes::Bytes;
use futago_base::{Incarnation, Moment, Payload, RequestId, ServerId, SessionId, Time, View};
use futago_driver::{Admission, AdmissionConfig, HybridClock};
use futago_server::{Decision, Input, Output, Server};
use futago_store::MemoryStore;
use futago_transport::Budget;
use futago_wire::{
    Body, Failure, Frame, Header, MessageKind, Outcome, Push, Reply, Request, header::features,
};
use std::{cell::RefCell, collections::BTreeMap, io, rc::Rc};

/// The parts of a server.
pub struct Setup {
    pub id: ServerId,
    pub cluster: Cluster,
    pub core: futago_server::Config,
    pub memory_bytes: u64,
    pub clock: Clock,
    /// Memory for incoming messages, shared by the servers of the process.
    pub budget: Budget,
    /// The number of servers that share the thread. Each reports an equal part of the thread's
    /// time.
    pub sharing: u64,
}

/// The number of ticks between two updates of metrics.
const TICKS_PER_PUBLICATION: u32 = 10;

/// A running server.
pub struct Shard {
    core: Server,
    store: MemoryStore,
    cluster: Cluster,
    clock: Clock,
    awake: AwakeTime,
    /// The readings of the clocks at the latest message or tick.
    now: Moment,
    /// The steady time of the latest decision. No two decisions have the same time.
    decided: HybridClock,
    stamps: HybridClock,
    /// When the next tick is due.
    next_tick: Time,
    admission: Admission,
    waiting: Waiting,
    counters: Counters,
    sharing: u64,
    peers: Peers,
    /// The connections of its thread.
    connections: Rc<RefCell<Connections>>,
    /// The connection of each session's latest request, which its replies use.
    sessions: BTreeMap<SessionId, ConnectionId>,
    ticks_passed: u32,
    /// Whether it has worked since [`Shard::flush`].
    has_worked: bool,
}

impl Shard {
    pub fn new(
        setup: Setup,
        siblings: Rc<Siblings>,
        connections: Rc<RefCell<Connections>>,
    ) -> io::Result<Self> {
        let map = setup.cluster.map().map_err(io::Error::other)?;
        let life = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let core = Server::new(setup.id, map, setup.core).in_life(Incarnation(life));
        let mut store = MemoryStore::new(setup.memory_bytes);
        let mut awake = AwakeTime::default();
        let now = Moment {
            steady: awake.at(setup.clock.steady(), None),
            stamp: setup.clock.wall(),
        };
        let next_tick = now.steady + core.config().tick;
        let genesis = core.genesis(&store, now);
        store.apply(genesis);
        let admission = AdmissionConfig {
            session_max: setup.cluster.limits.credits,
            ..AdmissionConfig::default()
        };
        Ok(Self {
            peers: Peers::new(setup.id, siblings, &setup.cluster, setup.budget),
            core,
            store,
            cluster: setup.cluster,
            clock: setup.clock,
            awake,
            now,
            decided: HybridClock::default(),
            stamps: HybridClock::default(),
            next_tick,
            admission: Admission::new(admission),
            waiting: Waiting::default(),
            counters: Counters::default(),
            sharing: setup.sharing,
            connections,
            sessions: BTreeMap::new(),
            ticks_passed: 0,
            has_worked: false,
        })
    }

    /// Sends the number of credits to a peer that has just connected.
    pub fn greet(&mut self, connection: ConnectionId) {
        let credits = Push::Credits(self.admission.credits());
        let frame = self.frame(Header::new(MessageKind::Push), Body::Push(credits));
        self.connections.borrow_mut().post(connection, &frame);
    }

    /// Counts a peer that failed to prove the key.
    pub const fn turned_away(&mut self) {
        self.counters.turned_away += 1;
    }

    /// A server that was stopped could not hear of its clients meanwhile, so that time does not
    /// count against them.
    fn read_clocks(&mut self) {
        let steady = self.clock.steady();
        self.now = Moment {
            steady: self.awake.at(steady, Some(self.next_tick)),
            stamp: self.clock.wall(),
        };
    }

    /// Handles a tick of the clock.
    pub fn tick(&mut self) {
        self.read_clocks();
        self.next_tick = self.now.steady + self.core.config().tick;
        self.handle(Input::Tick);
        if self.ticks_passed.is_multiple_of(TICKS_PER_PUBLICATION) {
            self.status().publish();
        }
        self.ticks_passed = self.ticks_passed.wrapping_add(1);
    }

    /// The connection has ended. Requests in progress continue, and a client that reconnects
    /// retries them.
    pub fn forget_sessions_of(&mut self, connection: ConnectionId) {
        let (admission, waiting) = (&mut self.admission, &mut self.waiting);
        self.sessions.retain(|session, at| {
            let gone = *at == connection;
            if gone {
                admission.forget(*session);
                waiting.forget(*session);
            }
            !gone
        });
    }

    /// Handles a message. Returns whether its sender may send it.
    pub fn receive(&mut self, from: Origin, frame: Frame) -> bool {
        self.has_worked = true;
        self.read_clocks();
        self.stamps.observe(frame.header.clock, self.now.stamp);
        self.counters.received_bytes += frame.payload.len() as u64;
        match (frame.body, from) {
            (Body::Request(request), Origin::Client(connection)) => {
                let Header {
                    session,
                    sequence,
                    acknowledged,
                    features,
                    ..
                } = frame.header;
                self.sessions.insert(session, connection);
                self.receive_request(Input::Request {
                    id: RequestId { session, sequence },
                    acknowledged,
                    request,
                    payload: frame.payload,
                    leases: features & features::LEASES != 0,
                    introduces: features & features::INTRODUCES != 0,
                });
            }
            (Body::Peer(message), Origin::Server(peer)) if message.sender() == peer => {
                self.counters.count("peer");
                self.handle(Input::Peer(message));
            }
            (Body::PeerAnswer(answer), Origin::Server(_)) => self.handle(Input::PeerAnswer(answer)),
            _ => return false,
        }
        true
    }

    fn receive_request(&mut self, input: Input) {
        let Input::Request { id, request, .. } = &input else {
            return;
        };
        let (id, operation) = (*id, request.into());
        self.counters.count(operation);
        if *request == Request::GetStatus {
            let status = Bytes::from(self.status().to_json());
            return self.answer(id, Ok(Reply::Bytes(status)), Payload::empty());
        }
        if !self.admission.admit(id, request) {
            return self.refuse(id);
        }
        let decision = self.decide(input);
        if decision.waits_for_clients && !self.admission.may_wait(id) {
            return self.refuse(id);
        }
        self.perform(decision);
        if self.admission.is_under_way(id) {
            self.waiting.begin(id, operation, self.now.steady);
        }
    }

    /// Refuses a request beyond the limits.
    fn refuse(&mut self, id: RequestId) {
        self.counters.busy += 1;
        self.answer(id, Err(Failure::Busy), Payload::empty());
    }

    /// Lets the core decide, and performs the decision.
    fn handle(&mut self, input: Input) {
        let decision = self.decide(input);
        self.perform(decision);
    }

    /// Lets the core decide.
    fn decide(&mut self, input: Input) -> Decision {
        self.has_worked = true;
        let now = Moment {
            steady: self.decided.advance(self.now.steady),
            stamp: self.stamps.advance(self.now.stamp),
        };
        self.core.handle(&self.store, input, now)
    }

    /// Applies the change, and queues the messages until [`Shard::flush`].
    fn perform(&mut self, decision: Decision) {
        self.store.apply(decision.batch);
        for output in decision.outputs {
            self.release(output);
        }
    }

    fn release(&mut self, output: Output) {
        match output {
            Output::Reply {
                request,
                outcome,
                payload,
            } => {
                self.admission.answered(request);
                self.waiting.end(request, self.now.steady);
                self.answer(request, outcome, payload);
            }
            Output::Push { session, push } => {
                let header = Header {
                    session,
                    ..Header::new(MessageKind::Push)
                };
                let frame = self.frame(header, Body::Push(push));
                self.send(session, &frame);
            }
            Output::Peer { to, message } => {
                self.send_to_peer(to, MessageKind::Peer, Body::Peer(message));
            }
            Output::PeerAnswer { to, answer } => {
                self.send_to_peer(to, MessageKind::PeerAnswer, Body::PeerAnswer(answer));
            }
        }
    }

    fn send_to_peer(&mut self, to: ServerId, kind: MessageKind, body: Body) {
        let mut frame = self.frame(Header::new(kind), body);
        frame.header.server = to;
        self.peers.send(to, frame);
    }

    fn frame(&mut self, header: Header, body: Body) -> Frame {
        let clock = self.stamps.read(self.now.stamp);
        let (server, map_epoch) = (self.core.id(), self.cluster.epoch);
        Frame {
            header: Header {
                server,
                clock,
                map_epoch,
                ..header
            },
            body,
            payload: Payload::empty(),
        }
    }

    fn answer(&mut self, request: RequestId, outcome: Outcome, payload: Payload) {
        let header = Header {
            session: request.session,
            sequence: request.sequence,
            ..Header::new(MessageKind::Outcome)
        };
        let frame = Frame {
            payload,
            ..self.frame(header, Body::Outcome(outcome))
        };
        self.send(request.session, &frame);
    }

    /// Sends a message to a client, if it is connected.
    fn send(&mut self, session: SessionId, frame: &Frame) {
        let Some(&connection) = self.sessions.get(&session) else {
            return;
        };
        if self.connections.borrow_mut().post(connection, frame) {
            self.counters.sent_bytes += frame.payload.len() as u64;
        }
    }

    /// Sends the queued messages for other servers.
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.has_worked) {
            self.counters.wake_ups += 1;
            self.peers.flush();
        }
    }

    fn status(&self) -> Status {
        let connections = self.connections.borrow().at(self.core.id());
        Status {
            connections: connections as u64,
            sessions: self.sessions.len() as u64,
            under_way: u64::from(self.admission.under_way()),
            ..Status::new(
                self.core.id(),
                &self.counters,
                self.sharing,
                &self.waiting,
                self.now.steady,
                self.store.space(),
            )
        }
    }
}
