//! One server: its core, its store and its clock, and the loop that drives them.

use super::connections::{Arrival, ConnectionId, Door};
use super::peers::Peers;
use super::process::std_duration;
use super::status::{Counters, Status};
use crate::Cluster;
use bytes::Bytes;
use futago_base::{Payload, RequestId, ServerId, SessionId, Time, View};
use futago_driver::{Admission, AdmissionConfig, HybridClock};
use futago_server::{Input, Output, Server};
use futago_store::MemoryStore;
use futago_transport::{Acceptor, Budget, Listener, Sender, busy, shared_memory::keep_watch};
use futago_wire::{
    Body, Failure, Frame, Header, MessageKind, Outcome, Peer, Push, Reply, Request,
    header::features,
};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    io,
    panic::resume_unwind,
    rc::Rc,
    sync::{Arc, mpsc},
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::{
    runtime::Builder,
    sync::{mpsc as channel, watch},
    task::{JoinSet, LocalSet, spawn_local},
    time::{MissedTickBehavior, interval},
};

/// What a server is made of.
pub struct Setup {
    pub id: ServerId,
    pub cluster: Cluster,
    pub core: futago_server::Config,
    pub memory_bytes: u64,
    /// Memory for messages on their way in, shared by the servers of the process.
    pub budget: Budget,
    /// How many servers share the thread: each tells an equal part of its time as its own.
    pub sharing: u64,
}

/// Metrics are refreshed once in so many ticks.
const TICKS_PER_PUBLICATION: u32 = 10;
/// How many messages may wait for the server; then the connections wait.
const ARRIVALS_MAX: usize = 1024;
/// How many messages are handled before the answers leave.
const BATCH_MAX: usize = 256;

/// Runs servers on this thread until they are told to stop, or one of them fails. Each reports once whether it
/// listens.
pub fn run(
    setups: Vec<Setup>,
    report: &mpsc::Sender<io::Result<()>>,
    stopped: &watch::Receiver<bool>,
) {
    // While the thread sleeps it has nothing to do; who looks for messages tells the rest.
    let runtime = Builder::new_current_thread()
        .enable_all()
        .on_thread_park(|| busy::end(busy::now()))
        .on_thread_unpark(|| busy::begin(busy::now()))
        .build();
    let outcome = runtime.and_then(|runtime| {
        LocalSet::new().block_on(&runtime, async {
            spawn_local(keep_watch(|look| look()));
            // As some of the thread's tasks they handle messages right after they are read, and before the thread
            // looks for more.
            let mut servers = JoinSet::new();
            for setup in setups {
                servers.spawn_local(serve(setup, report.clone(), stopped.clone()));
            }
            while let Some(ended) = servers.join_next().await {
                ended.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic()))?;
            }
            Ok(())
        })
    });
    if let Err(error) = outcome {
        // Nobody listens for a second report.
        let _ = report.send(Err(error));
    }
}

async fn serve(
    setup: Setup,
    report: mpsc::Sender<io::Result<()>>,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let budget = setup.budget.clone();
    let mut shard = Shard::new(setup)?;
    let address = shard.address()?;
    let listener = Listener::bind(&address)
        .await
        .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
    let (arrived, mut arrivals) = channel::channel(ARRIVALS_MAX);
    let door = shard.door(budget, arrived);
    let (key, most) = (shard.cluster.key.clone(), shard.cluster.limits.connections);
    let acceptor = Acceptor::new(key, most, door);
    match Listener::bind_nearby(&address, shard.cluster.id.0, shard.core.id()) {
        Ok(Some(nearby)) => spawn_accepting(&acceptor, nearby),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "processes of this host connect over TCP"),
    }
    spawn_accepting(&acceptor, listener);
    let mut ticks = interval(std_duration(shard.core.config().tick));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    report.send(Ok(())).map_err(io::Error::other)?;
    tracing::info!(server = shard.core.id().0, %address, "serving");
    let mut ticks_passed = 0_u32;
    loop {
        tokio::select! {
            Some(arrival) = arrivals.recv() => {
                shard.take(arrival);
                for _ in 1..BATCH_MAX {
                    let Ok(arrival) = arrivals.try_recv() else { break };
                    shard.take(arrival);
                }
            }
            _ = ticks.tick() => {
                shard.now = wall_clock();
                shard.decide(Input::Tick);
                if ticks_passed.is_multiple_of(TICKS_PER_PUBLICATION) {
                    shard.status().publish();
                }
                ticks_passed = ticks_passed.wrapping_add(1);
            }
            _ = stopped.changed() => break,
        }
        shard.counters.wake_ups += 1;
        shard.flush();
    }
    tracing::info!(server = shard.core.id().0, "stopped");
    Ok(())
}

fn spawn_accepting(acceptor: &Rc<Acceptor<Door>>, listener: Listener) {
    let acceptor = Rc::clone(acceptor);
    spawn_local(async move { acceptor.run(&listener).await });
}

/// A connection that others have made to this server.
struct Connection {
    /// The server at its other end; none for a client.
    peer: Option<ServerId>,
    sender: Arc<Sender>,
}

/// A server in the making of its next answers.
struct Shard {
    core: Server,
    store: MemoryStore,
    cluster: Cluster,
    clock: HybridClock,
    /// The wall clock when the latest message or tick was taken.
    now: Time,
    admission: Admission,
    counters: Counters,
    sharing: u64,
    peers: Peers,
    connections: BTreeMap<ConnectionId, Connection>,
    /// Connections with something to send.
    queued: BTreeSet<ConnectionId>,
    /// Where each session was last heard from: its answers go there.
    sessions: BTreeMap<SessionId, ConnectionId>,
}

fn wall_clock() -> Time {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Time(since_1970.as_nanos().min(u128::from(u64::MAX)) as u64)
}

impl Shard {
    fn new(setup: Setup) -> io::Result<Self> {
        let map = setup.cluster.map().map_err(io::Error::other)?;
        let core = Server::new(setup.id, map, setup.core);
        let mut store = MemoryStore::new(setup.memory_bytes);
        let now = wall_clock();
        let genesis = core.genesis(&store, now);
        store.apply(genesis);
        let admission = AdmissionConfig {
            session_max: setup.cluster.limits.credits,
            ..AdmissionConfig::default()
        };
        Ok(Self {
            peers: Peers::new(setup.id, &setup.cluster, setup.budget),
            core,
            store,
            cluster: setup.cluster,
            clock: HybridClock::default(),
            now,
            admission: Admission::new(admission),
            counters: Counters::default(),
            sharing: setup.sharing,
            connections: BTreeMap::new(),
            queued: BTreeSet::new(),
            sessions: BTreeMap::new(),
        })
    }

    fn address(&self) -> io::Result<futago_transport::Address> {
        let entry = self.cluster.server(self.core.id());
        let missing = || io::Error::other(format!("{} is not in the cluster file", self.core.id()));
        Ok(entry.ok_or_else(missing)?.address.clone())
    }

    fn door(&self, budget: Budget, arrived: channel::Sender<Arrival>) -> Door {
        let (id, map_epoch) = (self.core.id(), self.cluster.epoch);
        Door {
            id,
            map_epoch,
            budget,
            arrived,
            next: Cell::new(0),
        }
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Opened(id, peer, sender) => {
                let credits = Push::Credits(self.admission.credits());
                sender.queue(&self.frame(Header::new(MessageKind::Push), Body::Push(credits)));
                self.queued.insert(id);
                self.connections.insert(id, Connection { peer, sender });
            }
            Arrival::Closed(id) => {
                self.connections.remove(&id);
                self.forget_sessions_of(id);
            }
            Arrival::TurnedAway => self.counters.turned_away += 1,
            Arrival::Messages(id, frames) => {
                let peer = self.connections.get(&id).and_then(|at| at.peer);
                for frame in frames {
                    self.receive(id, peer, frame);
                }
            }
        }
    }

    /// Nobody waits on this connection any more; what is under way goes on, and a client that comes
    /// back asks again.
    fn forget_sessions_of(&mut self, connection: ConnectionId) {
        let admission = &mut self.admission;
        self.sessions.retain(|session, at| {
            let gone = *at == connection;
            if gone {
                admission.forget(*session);
            }
            !gone
        });
    }

    fn receive(&mut self, connection: ConnectionId, peer: Option<ServerId>, frame: Frame) {
        self.now = wall_clock();
        self.clock.observe(frame.header.clock, self.now);
        self.counters.received_bytes += frame.payload.len() as u64;
        match (frame.body, peer) {
            (Body::Request(request), None) => {
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
                });
            }
            (Body::Peer(message), Some(peer)) if sender_of(&message) == peer => {
                self.counters.count("peer");
                self.decide(Input::Peer(message));
            }
            (Body::PeerAnswer(answer), Some(_)) => self.decide(Input::PeerAnswer(answer)),
            _ => self.cut_off(connection),
        }
    }

    /// Ends a connection that brought what its other end may not send.
    fn cut_off(&mut self, id: ConnectionId) {
        tracing::warn!(
            server = self.core.id().0,
            connection = id,
            "cut off: a message out of place"
        );
        self.counters.turned_away += 1;
        if let Some(connection) = self.connections.get(&id) {
            connection.sender.close();
        }
    }

    fn receive_request(&mut self, input: Input) {
        let Input::Request { id, request, .. } = &input else {
            return;
        };
        let id = *id;
        self.counters.count(request.into());
        if *request == Request::GetStatus {
            let status = Bytes::from(self.status().to_json());
            return self.answer(id, Ok(Reply::Bytes(status)), Payload::empty());
        }
        if !self.admission.admit(id, request) {
            self.counters.busy += 1;
            return self.answer(id, Err(Failure::Busy), Payload::empty());
        }
        self.decide(input);
    }

    /// Lets the core decide, makes the change, and keeps what is to be sent until [`Shard::flush`].
    fn decide(&mut self, input: Input) {
        let now = self.clock.advance(self.now);
        let decision = self.core.handle(&self.store, input, now);
        self.store.apply(decision.batch);
        for output in decision.outputs {
            self.release(output);
        }
    }

    fn release(&mut self, output: Output) {
        match output {
            Output::Answer {
                request,
                outcome,
                payload,
            } => {
                self.admission.answered(request);
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
                let frame = self.frame(Header::new(MessageKind::Peer), Body::Peer(message));
                self.peers.send(to, frame);
            }
            Output::PeerAnswer { to, answer } => {
                let header = Header::new(MessageKind::PeerAnswer);
                let frame = self.frame(header, Body::PeerAnswer(answer));
                self.peers.send(to, frame);
            }
        }
    }

    fn frame(&mut self, header: Header, body: Body) -> Frame {
        let clock = self.clock.read(self.now);
        let map_epoch = self.cluster.epoch;
        Frame {
            header: Header {
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

    /// Sends something to a client, if it is connected.
    fn send(&mut self, session: SessionId, frame: &Frame) {
        let connection = self.sessions.get(&session);
        let Some((&id, at)) = connection.and_then(|id| Some((id, self.connections.get(id)?)))
        else {
            return;
        };
        self.counters.sent_bytes += frame.payload.len() as u64;
        if at.sender.post(frame) {
            self.queued.insert(id);
        }
    }

    /// Sends what has come of the messages since the last time, each connection's at once.
    fn flush(&mut self) {
        for id in std::mem::take(&mut self.queued) {
            if let Some(connection) = self.connections.get(&id) {
                connection.sender.flush();
            }
        }
        self.peers.flush();
    }

    fn status(&self) -> Status {
        Status::new(
            self.core.id(),
            (&self.counters, self.sharing),
            self.store.space(),
            (
                self.connections.len(),
                self.sessions.len(),
                self.admission.under_way(),
            ),
        )
    }
}

/// The server that a message says it is from.
const fn sender_of(message: &Peer) -> ServerId {
    match message {
        Peer::Deliver { sender, .. } | Peer::Ask { sender, .. } => *sender,
    }
}
