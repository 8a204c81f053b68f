//! The parties of a simulated cluster and the network between them. Nothing here knows an event
//! loop: every event leads to further events, each after a delay.

mod client;
mod clock;
mod context;
mod core;
mod coverage;
mod defect;
mod disk;
mod network;
mod places;
mod server;
mod sharing;

pub use client::ClientNode;
pub use context::SimulatedContext;
pub use coverage::{Coverage, Mark};
pub use defect::Defect;
pub use disk::{DiskConfig, DiskFaults, Ending};
pub use network::{Faults, Network, Partition, Party, Pause};
pub use server::ServerNode;

use crate::check::missed_truncations;
use futago_base::{ClusterMap, Duration, Incarnation, ServerId, SessionId, Time};
use futago_driver::{AdmissionConfig, Receiver};
use futago_server::Config;
use futago_store::MemoryStore;
use futago_wire::{Body, Failure, Frame};
use std::collections::BTreeMap;

/// Something that happens to a party.
#[derive(Clone, Debug)]
pub enum Event {
    /// A message reaches a server.
    Server(ServerId, Box<Frame>),
    /// A server's tick is due.
    Tick(ServerId),
    /// A message from a server reaches a client.
    Client(usize, ServerId, Box<Frame>),
    /// A message of another client reaches a client.
    Cache(usize, Box<Frame>),
    /// Something that a client waits for is due.
    Wake(usize),
    /// A server stops.
    Stop(ServerId, Ending),
    /// A server that has stopped goes on with what it had.
    Resume(ServerId),
    /// The synchronization of a server's disk that has this number is done.
    Synchronized(ServerId, u64),
    /// A server that has stopped begins a new life, with an empty store.
    Begin(ServerId, Incarnation),
    /// The wall clock of a party steps by so many nanoseconds.
    StepClock(Party, i64),
}

/// Events, each after a delay.
pub type Consequences = Vec<(Duration, Event)>;

/// Servers, clients and the network.
pub struct Cluster {
    /// Which server owns what.
    pub map: ClusterMap,
    /// The servers.
    pub servers: Vec<ServerNode>,
    /// All clients that there ever were.
    pub clients: Vec<ClientNode>,
    /// Which client has which session.
    pub sessions: BTreeMap<SessionId, usize>,
    /// The network.
    pub network: Network,
    /// The stores of servers before they began a new incarnation.
    pub lost: Vec<MemoryStore>,
    /// Faults after single events, one line each; later events may have hidden them.
    pub damages: Vec<String>,
    /// The recovery paths and kinds of faults that it has passed through.
    pub coverage: Coverage,
    config: Config,
    defect: Option<Defect>,
}

impl Cluster {
    /// A cluster of new servers with so much memory each, which take on no more requests at a time
    /// than `admission` says, without clients, and perhaps with a defect.
    pub fn new(
        map: ClusterMap,
        config: &Config,
        memory_bytes: u64,
        admission: AdmissionConfig,
        network: Network,
        defect: Option<Defect>,
    ) -> Self {
        let servers = map.servers();
        Self {
            servers: servers
                .map(|id| ServerNode::new(id, &map, config, memory_bytes, admission, defect))
                .collect(),
            defect,
            map,
            clients: Vec::new(),
            sessions: BTreeMap::new(),
            network,
            lost: Vec::new(),
            damages: Vec::new(),
            coverage: Coverage::default(),
            config: config.clone(),
        }
    }

    /// Gives the servers disks, before anything happens.
    pub fn put_on_disks(&mut self, config: DiskConfig, seed: u64) {
        for server in &mut self.servers {
            server.put_on_disk(config, seed);
        }
    }

    /// From now on, disks have such faults now and then.
    pub fn set_disk_faults(&mut self, faults: DiskFaults) {
        for server in &mut self.servers {
            server.set_disk_faults(faults);
        }
    }

    /// The connections of a client break: its requests take no place any more.
    pub fn disconnect(&mut self, client: usize) {
        let session = self.clients[client].session();
        for server in &mut self.servers {
            server.disconnect(session);
        }
    }

    /// The first tick of every server.
    pub fn begin(&self) -> Consequences {
        let ids = self.map.servers();
        ids.map(|id| (self.config.tick, Event::Tick(id))).collect()
    }

    /// The stores of the servers.
    pub fn stores(&self) -> Vec<&MemoryStore> {
        self.servers.iter().map(ServerNode::store).collect()
    }

    /// Adds a client and returns its number. It sends a keep-alive four times a lease, as real
    /// clients do.
    pub fn add_client(&mut self, config: futago_client::Config, seed: u64, now: Time) -> usize {
        let number = self.clients.len();
        let session = SessionId(number as u64 + 1);
        let keep_alive = Duration(self.config.lease.0 / 4);
        let client = ClientNode::new(
            session,
            &self.map,
            config,
            keep_alive,
            seed,
            now,
            self.defect,
        );
        self.clients.push(client);
        self.sessions.insert(session, number);
        number
    }

    /// Lets an event happen. One that concerns a client that is paused waits.
    pub fn handle(&mut self, event: Event, now: Time) -> Consequences {
        if let Event::Client(client, ..) | Event::Cache(client, _) | Event::Wake(client) = &event
            && let Some(left) = self.network.paused(*client, now)
        {
            self.coverage.add(Mark::ClientPaused);
            return vec![(left, event)];
        }
        match event {
            Event::Server(id, frame) => {
                let sent = self.servers[usize::from(id.0)].receive(*frame, now);
                self.follow(id, sent, now)
            }
            Event::Tick(id) => {
                let sent = self.servers[usize::from(id.0)].tick(now);
                let mut consequences = self.follow(id, sent, now);
                consequences.push((self.config.tick, Event::Tick(id)));
                consequences
            }
            Event::Synchronized(id, number) => {
                let sent = self.servers[usize::from(id.0)].end_synchronization(number, now);
                self.follow(id, sent, now)
            }
            Event::Client(client, from, frame) => {
                let is_refused = frame.body == Body::Outcome(Err(Failure::SessionExpired));
                let is_lost = is_refused && self.clients[client].is_alive();
                self.coverage.add_if(is_lost, Mark::SessionLost);
                self.clients[client].receive(from, *frame, now);
                self.run_client(client, now)
            }
            Event::Cache(client, frame) => {
                self.clients[client].receive_from_client(*frame, now);
                self.run_client(client, now)
            }
            Event::Wake(client) => self.run_client(client, now),
            Event::Stop(id, ending) => {
                self.servers[usize::from(id.0)].stop(ending, now);
                self.follow(id, Vec::new(), now)
            }
            Event::Resume(id) => {
                let node = &mut self.servers[usize::from(id.0)];
                if let Some(wait) = node.outwaits_clients(now, self.config.lease) {
                    return vec![(wait, Event::Resume(id))];
                }
                let sent = node.resume(now);
                self.follow(id, sent, now)
            }
            Event::Begin(id, incarnation) => {
                let lost = self.servers[usize::from(id.0)].begin_life(incarnation, now);
                self.lost.push(lost);
                Vec::new()
            }
            Event::StepClock(party, by_ns) => {
                self.step_clock(party, by_ns);
                Vec::new()
            }
        }
    }

    fn step_clock(&mut self, party: Party, by_ns: i64) {
        self.coverage.add(match by_ns.is_negative() {
            true => Mark::ClockSetBack,
            false => Mark::ClockSetForward,
        });
        match party {
            Party::Server(id) => self.servers[usize::from(id.0)].wall.step(by_ns),
            Party::Client(client) => self.clients[client].step_clock(by_ns),
        }
    }

    /// The consequences of what a server has just done.
    fn follow(&mut self, id: ServerId, sent: Vec<(Receiver, Frame)>, now: Time) -> Consequences {
        self.look_at(id);
        let mut consequences = self.deliver(id, sent, now);
        let node = &mut self.servers[usize::from(id.0)];
        let end = node.take_begun();
        let end = end.map(|begun| (begun.lasts, Event::Synchronized(id, begun.number)));
        let back = node.take_return().map(|after| (after, Event::Resume(id)));
        consequences.extend(end.into_iter().chain(back));
        consequences
    }

    /// Looks at what a server has just done.
    fn look_at(&mut self, server: ServerId) {
        self.check_hearing(server);
        let faulty = self.network.has_faults();
        let node = &mut self.servers[usize::from(server.0)];
        let mistakes = node.take_mistakes().into_iter();
        let mistakes = mistakes.map(|mistake| format!("{server}: {mistake}"));
        self.damages.extend(mistakes);
        let mut passed = node.take_passed();
        let splits = passed.contains(Mark::BucketSplit);
        passed.add_if(faulty && splits, Mark::BucketSplitUnderFaults);
        let restores = passed.contains(Mark::FileRestored);
        passed.add_if(faulty && restores, Mark::FileRestoredUnderFaults);
        self.coverage.join(passed);
        self.coverage.join(self.network.passed);
    }

    /// Checks the files of which a server has just noted something about truncations.
    fn check_hearing(&mut self, server: ServerId) {
        let unchecked = self.servers[usize::from(server.0)].take_unchecked();
        for file in unchecked {
            let missed = missed_truncations(&self.map, &self.stores(), file);
            self.damages.extend(missed);
        }
    }

    /// Lets a client go on as far as it can.
    pub fn run_client(&mut self, number: usize, now: Time) -> Consequences {
        let client = &mut self.clients[number];
        client.run(now);
        let (mut consequences, was_alive) = (Vec::new(), client.is_alive());
        let sent = client.take_sent();
        let has_died = was_alive && !client.is_alive();
        self.coverage.add_if(has_died, Mark::ClientDied);
        for (server, frame) in sent {
            let (from, to) = (Party::Client(number), Party::Server(server));
            let event = Event::Server(server, Box::new(frame));
            self.network.send(now, from, to, &event, &mut consequences);
        }
        self.send_to_clients(number, now, &mut consequences);
        if let Some(due) = self.clients[number].next_due() {
            consequences.push((due.since(now), Event::Wake(number)));
        }
        consequences
    }

    /// Sends what a client has sent to other clients.
    fn send_to_clients(&mut self, number: usize, now: Time, out: &mut Consequences) {
        let client = &self.clients[number];
        let sent = client.take_sent_to_clients();
        let counters = client.core.sharing_counters();
        self.coverage
            .add_if(counters.bytes_from_peers > 0, Mark::CopyRead);
        self.coverage.add_if(counters.missed > 0, Mark::CopyMissed);
        self.coverage
            .add_if(counters.damaged > 0, Mark::CopyDamaged);
        self.coverage
            .add_if(counters.bytes_forwarded > 0, Mark::CopyForwarded);
        for (session, mut frame) in sent {
            if let Some(&to) = self.sessions.get(&session) {
                self.network.damage_copy(&mut frame);
                let (from, event) = (Party::Client(number), Event::Cache(to, Box::new(frame)));
                self.network.send(now, from, Party::Client(to), &event, out);
            }
        }
    }

    fn deliver(&mut self, from: ServerId, sent: Vec<(Receiver, Frame)>, now: Time) -> Consequences {
        let mut consequences = Vec::new();
        for (receiver, frame) in sent {
            let frame = Box::new(frame);
            let (to, event) = match receiver {
                Receiver::Server(to) => (Party::Server(to), Event::Server(to, frame)),
                Receiver::Session(session) => match self.sessions.get(&session) {
                    Some(&client) => (Party::Client(client), Event::Client(client, from, frame)),
                    None => continue,
                },
            };
            self.network
                .send(now, Party::Server(from), to, &event, &mut consequences);
        }
        consequences
    }
}
