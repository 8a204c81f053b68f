//! One server: its driver, the connections to its clients, and what it counts.

use super::adoption::Openings;
use super::connections::{ConnectionId, Connections, Origin};
use super::peers::{Peers, Siblings};
use super::status::{Counters, Status, StoreStatus};
use super::surroundings::Surroundings;
use super::waiting::Waiting;
use crate::{Clock, Cluster, clock::AwakeTime, locations::SharedLocations};
use bytes::Bytes;
use futago_base::{
    Duration, Incarnation, Moment, RequestId, ServerId, SessionId, Store as _, Time, View,
};
use futago_driver::{AdmissionConfig, Receiver, ServerDriver};
use futago_server::{Input, Output, Server};
use futago_store::{Identity, Recovered, ServerStore, StoreConfig, StoreError, Synchronization};
use futago_transport::Budget;
use futago_wire::{Body, Failure, Frame, Push, Reply, Request};
use std::{cell::RefCell, collections::BTreeMap, io, path::PathBuf, rc::Rc};

/// The parts of a server.
pub struct Setup {
    pub id: ServerId,
    pub cluster: Cluster,
    pub core: futago_server::Config,
    pub memory_bytes: u64,
    pub surroundings: Surroundings,
    /// Memory for incoming messages, shared by the servers of the process.
    pub budget: Budget,
    /// Where the servers of the cluster are now.
    pub locations: SharedLocations,
    /// Whether the server comes from another process, so that it has a log.
    pub has_moved: bool,
    /// The servers that the process is about to serve.
    pub opening: Openings,
}

/// The store of a server, opened.
pub struct Opened {
    store: ServerStore,
    recovered: Recovered,
}

impl Opened {
    /// Whether clients may have seen what a loss of power has undone.
    pub const fn may_have_lost(&self) -> bool {
        self.recovered.may_have_lost
    }
}

impl Setup {
    /// Opens the store, which may be that of an earlier process. `drawn` is the life of a server
    /// that begins with an empty one.
    ///
    /// # Errors
    /// That of the log, such as [`StoreError::InUse`].
    pub fn open(&self, drawn: Incarnation) -> Result<Opened, StoreError> {
        let (store, recovered) = self.open_store(drawn)?;
        Ok(Opened { store, recovered })
    }

    /// The directory of its log.
    pub fn directory(&self) -> Option<PathBuf> {
        let data = self.cluster.data.as_ref()?;
        Some(data.join(format!("server-{}", self.id.0)))
    }

    fn open_store(&self, drawn: Incarnation) -> Result<(ServerStore, Recovered), StoreError> {
        let identity = Identity {
            cluster: self.cluster.id.0,
            server: self.id,
            incarnation: drawn,
        };
        let Some(directory) = self.directory() else {
            return Ok(ServerStore::in_memory(identity, self.memory_bytes));
        };
        let beside = self.cluster.servers_beside(self.id);
        let config = StoreConfig::new(self.memory_bytes, beside, self.cluster.sync);
        let directory = (self.surroundings.open_directory)(&directory)?;
        ServerStore::on_disk(directory, identity, config)
    }
}

/// How much of the latest work of a server a loss of power may undo.
const SYNCHRONIZE_EVERY: Duration = Duration::from_secs(5);
/// The number of ticks between two updates of metrics.
const TICKS_PER_PUBLICATION: u32 = 10;

/// A running server.
pub struct Shard {
    driver: ServerDriver<Server, ServerStore>,
    clock: Clock,
    awake: AwakeTime,
    /// The readings of the clocks at the latest message or tick.
    now: Moment,
    /// When the next tick is due.
    next_tick: Time,
    /// When the store is synchronized, whether something waits for it or not.
    next_synchronization: Time,
    waiting: Waiting,
    /// The requests since the last release, and their operations.
    received: Vec<(RequestId, &'static str)>,
    counters: Counters,
    siblings: Rc<Siblings>,
    /// The number of its process in the cluster file.
    process: u32,
    locations: SharedLocations,
    opening: Openings,
    peers: Peers,
    /// The connections of its thread.
    connections: Rc<RefCell<Connections>>,
    /// The connection of each session's latest request, which its replies use.
    sessions: BTreeMap<SessionId, ConnectionId>,
    ticks_passed: u32,
    /// The entries that its log had when it started.
    recovered_entries: u64,
    /// Whether it has worked since [`Shard::flush`], or has messages for other servers.
    has_worked: bool,
}

impl Shard {
    pub fn new(
        setup: Setup,
        opened: Opened,
        siblings: Rc<Siblings>,
        connections: Rc<RefCell<Connections>>,
    ) -> io::Result<Self> {
        let map = setup.cluster.map().map_err(io::Error::other)?;
        let Opened { store, recovered } = opened;
        let life = recovered.identity.incarnation;
        let peers = Peers::new(&setup, Rc::clone(&siblings));
        let core = Server::new(setup.id, map, setup.core).in_life(life);
        let clock = setup.surroundings.clock;
        let steady = clock.steady();
        let is_new = recovered.entries == 0;
        let reached = if is_new {
            steady
        } else {
            recovered.decided.steady
        };
        let mut awake = AwakeTime::resumed(steady, reached);
        let now = Moment {
            steady: awake.at(steady, None),
            stamp: clock.wall(),
        };
        let next_tick = now.steady + core.config().tick;
        let admission = AdmissionConfig {
            session_max: setup.cluster.limits.credits,
            ..AdmissionConfig::default()
        };
        let mut driver = if is_new {
            ServerDriver::new(core, store, admission, now)
        } else {
            ServerDriver::resume(core, store, admission, recovered.decided)
        };
        if recovered.may_have_lost {
            driver.handle(Input::Lost, now);
        }
        // The log begins before there is any data that it does not name.
        driver.store_mut().persist().map_err(io::Error::other)?;
        Ok(Self {
            peers,
            driver,
            clock,
            awake,
            now,
            next_tick,
            next_synchronization: now.steady + SYNCHRONIZE_EVERY,
            waiting: Waiting::default(),
            received: Vec::new(),
            counters: Counters::default(),
            siblings,
            process: setup.cluster.server(setup.id).map_or(0, |it| it.process),
            locations: setup.locations,
            opening: setup.opening,
            connections,
            sessions: BTreeMap::new(),
            ticks_passed: 0,
            recovered_entries: recovered.entries,
            has_worked: false,
        })
    }

    /// Sends the number of credits to a peer that has just connected.
    pub fn greet(&mut self, connection: ConnectionId) {
        let credits = Output::Push {
            session: SessionId(0),
            push: Push::Credits(self.driver.admission().credits()),
        };
        let (_, frame) = self.driver.frame(credits, self.now.stamp);
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
        self.has_worked = true;
        self.read_clocks();
        self.next_tick = self.now.steady + self.driver.server().config().tick;
        self.driver.handle(Input::Tick, self.now);
        if self.ticks_passed.is_multiple_of(TICKS_PER_PUBLICATION) {
            self.status().publish();
        }
        self.ticks_passed = self.ticks_passed.wrapping_add(1);
    }

    /// The connection has ended. Requests in progress continue, and a client that reconnects
    /// retries them.
    pub fn forget_sessions_of(&mut self, connection: ConnectionId) {
        let (driver, waiting) = (&mut self.driver, &mut self.waiting);
        self.sessions.retain(|session, at| {
            let gone = *at == connection;
            if gone {
                driver.forget(*session);
                waiting.forget(*session);
            }
            !gone
        });
    }

    /// Handles a message. Returns whether its sender may send it.
    pub fn receive(&mut self, from: Origin, frame: Frame) -> bool {
        self.has_worked = true;
        self.read_clocks();
        self.counters.received_bytes += frame.payload.len() as u64;
        match (&frame.body, from) {
            (Body::Request(_), Origin::Client(connection)) => {
                self.sessions.insert(frame.header.session, connection);
                self.receive_request(frame);
            }
            (Body::Peer(message), Origin::Server(peer)) if message.sender() == peer => {
                self.counters.count("peer");
                self.driver.receive(frame, self.now);
            }
            (Body::PeerAnswer(_), Origin::Server(_)) => self.driver.receive(frame, self.now),
            _ => return false,
        }
        true
    }

    fn receive_request(&mut self, frame: Frame) {
        let Body::Request(request) = &frame.body else {
            return;
        };
        let operation = request.into();
        self.counters.count(operation);
        let id = RequestId {
            session: frame.header.session,
            sequence: frame.header.sequence,
        };
        if request.is_for_runtime() {
            let reply = self.reply_of_runtime(id, request);
            return self.send(reply);
        }
        self.driver.receive(frame, self.now);
        self.received.push((id, operation));
    }

    /// The status and the locations are no matter of the core.
    fn reply_of_runtime(&self, request: RequestId, asked: &Request) -> Output {
        let (reply, payload) = match asked {
            Request::GetLocations { known } => (Reply::Done, self.locations.after(*known)),
            _ => (Reply::Bytes(self.status().to_json().into()), Bytes::new()),
        };
        Output::Reply {
            request,
            outcome: Ok(reply),
            payload: payload.into(),
        }
    }

    /// Queues the messages that resulted since the last call, once what they depend on is durable.
    ///
    /// # Errors
    /// If the store cannot keep something. The server must not go on.
    pub fn release(&mut self) -> Result<(), StoreError> {
        for output in self.driver.release()? {
            self.send(output);
        }
        for (id, operation) in self.received.drain(..) {
            if self.driver.admission().is_under_way(id) {
                self.waiting.begin(id, operation, self.now.steady);
            }
        }
        Ok(())
    }

    /// Begins to synchronize the store, if something waits for it or it is time.
    ///
    /// # Errors
    /// As [`Shard::release`].
    pub fn begin_synchronization(&mut self) -> Result<Option<Synchronization>, StoreError> {
        let is_due = self.next_synchronization <= self.now.steady;
        let is_wanted = self.driver.awaits_durability();
        let store = self.driver.store_mut();
        if !(is_due || is_wanted || store.wants_synchronization()) {
            return Ok(None);
        }
        self.next_synchronization = self.now.steady + SYNCHRONIZE_EVERY;
        store.begin_synchronization()
    }

    /// Notes that the store was synchronized. [`Shard::release`] sends what has waited for it.
    pub fn end_synchronization(&mut self, done: &Synchronization) {
        self.driver.store_mut().end_synchronization(done);
    }

    /// Sends a message to a client, if it is connected, or queues it for a server until
    /// [`Shard::flush`].
    fn send(&mut self, output: Output) {
        if let Output::Reply {
            request, outcome, ..
        } = &output
        {
            self.waiting.end(*request, self.now.steady);
            self.counters.busy += u64::from(*outcome == Err(Failure::Busy));
        }
        match self.driver.frame(output, self.now.stamp) {
            (Receiver::Server(to), frame) => {
                self.peers.send(to, frame);
                self.has_worked = true;
            }
            (Receiver::Session(session), frame) => self.send_to_client(session, &frame),
        }
    }

    fn send_to_client(&mut self, session: SessionId, frame: &Frame) {
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

    /// The server leaves the process: its metrics do not stay what they were, and its store
    /// survives whatever happens to the host.
    ///
    /// # Errors
    /// If the store cannot be synchronized. It has all that survives the end of a process.
    pub fn close(self) -> Result<(), StoreError> {
        self.status().withdraw();
        self.driver.into_store().close()
    }

    fn store_status(&self) -> Option<StoreStatus> {
        let store = self.driver.store();
        Some(StoreStatus {
            recovered_entries: self.recovered_entries,
            log_bytes: store.log_bytes()?,
            data_bytes: store.data_file_bytes()?,
            cached_bytes: store.cached_bytes(),
            damage: store.read_failures(),
        })
    }

    fn status(&self) -> Status {
        let connections = self.connections.borrow().at(self.driver.id());
        Status {
            process: self.process,
            map_epoch: self.locations.epoch(),
            opening: self.opening.servers(),
            connections: connections as u64,
            store: self.store_status(),
            sessions: self.sessions.len() as u64,
            under_way: u64::from(self.driver.admission().under_way()),
            ..Status::new(
                self.driver.id(),
                &self.counters,
                self.siblings.count(),
                &self.waiting,
                self.now.steady,
                self.driver.store().space(),
            )
        }
    }
}
