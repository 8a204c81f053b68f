//! The parties of a simulated cluster and the network between them. Nothing here knows an event
//! loop: every event leads to further events, each after a delay.

mod client;
mod context;
mod network;
mod server;

pub use client::ClientNode;
pub use context::SimulatedContext;
pub use network::{Faults, Network, Partition, Party};
pub use server::{Defect, ServerNode};

use futago_base::{ClusterMap, Duration, Payload, RequestId, ServerId, SessionId, Time};
use futago_server::{Config, Input, Output};
use futago_store::MemoryStore;
use futago_wire::{Outcome, Request};
use std::collections::BTreeMap;

/// Something that happens to a party.
#[derive(Clone, Debug)]
pub enum Event {
    /// A message reaches a server, or its tick is due.
    Server(ServerId, Box<Input>),
    /// An answer reaches a client.
    Answer(usize, RequestId, Box<(Outcome, Payload)>),
    /// Something that a client waits for is due.
    Wake(usize),
}

/// What a client sends.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The server.
    pub to: ServerId,
    /// The request's number.
    pub sequence: u64,
    /// What is done with.
    pub acknowledged: u64,
    /// The request.
    pub request: Request,
    /// Its data.
    pub payload: Payload,
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
    tick: Duration,
}

impl Cluster {
    /// A cluster of new servers without clients.
    pub fn new(map: ClusterMap, config: &Config, network: Network) -> Self {
        let servers = map.servers();
        Self {
            servers: servers
                .map(|id| ServerNode::new(id, &map, config))
                .collect(),
            map,
            clients: Vec::new(),
            sessions: BTreeMap::new(),
            network,
            tick: config.tick,
        }
    }

    /// The first tick of every server.
    pub fn begin(&self) -> Consequences {
        let ids = self.map.servers();
        ids.map(|id| (self.tick, Event::Server(id, Box::new(Input::Tick))))
            .collect()
    }

    /// What the servers hold.
    pub fn stores(&self) -> Vec<&MemoryStore> {
        self.servers.iter().map(|server| &server.store).collect()
    }

    /// Adds a client and returns its number.
    pub fn add_client(&mut self, chunk_bytes: u32, seed: u64, now: Time) -> usize {
        let number = self.clients.len();
        let session = SessionId(number as u64 + 1);
        let client = ClientNode::new(session, &self.map, chunk_bytes, seed, now);
        self.clients.push(client);
        self.sessions.insert(session, number);
        number
    }

    /// Lets an event happen.
    pub fn handle(&mut self, event: Event, now: Time) -> Consequences {
        match event {
            Event::Server(id, input) => {
                let is_tick = matches!(*input, Input::Tick);
                let outputs = self.servers[usize::from(id.0)].handle(*input, now);
                let mut consequences = self.deliver(id, outputs, now);
                if is_tick {
                    let tick = Event::Server(id, Box::new(Input::Tick));
                    consequences.push((self.tick, tick));
                }
                consequences
            }
            Event::Answer(client, id, answer) => {
                self.clients[client].receive(id.sequence, *answer, now);
                self.run_client(client, now)
            }
            Event::Wake(client) => self.run_client(client, now),
        }
    }

    /// Lets a client go on as far as it can.
    pub fn run_client(&mut self, number: usize, now: Time) -> Consequences {
        let client = &mut self.clients[number];
        client.run(now);
        let session = client.session();
        let mut consequences = Vec::new();
        for sent in client.take_sent() {
            let (from, to) = (Party::Client(number), Party::Server(sent.to));
            let input = Input::Request {
                id: RequestId {
                    session,
                    sequence: sent.sequence,
                },
                acknowledged: sent.acknowledged,
                request: sent.request,
                payload: sent.payload,
            };
            let event = Event::Server(sent.to, Box::new(input));
            self.network.send(now, from, to, &event, &mut consequences);
        }
        if let Some(due) = client.next_due() {
            consequences.push((due.since(now), Event::Wake(number)));
        }
        consequences
    }

    fn deliver(&mut self, from: ServerId, outputs: Vec<Output>, now: Time) -> Consequences {
        let mut consequences = Vec::new();
        for output in outputs {
            let (to, event) = match output {
                Output::Answer {
                    request,
                    outcome,
                    payload,
                } => {
                    let Some(&client) = self.sessions.get(&request.session) else {
                        continue;
                    };
                    let answer = Box::new((outcome, payload));
                    (
                        Party::Client(client),
                        Event::Answer(client, request, answer),
                    )
                }
                Output::Peer { to, message } => (
                    Party::Server(to),
                    Event::Server(to, Box::new(Input::Peer(message))),
                ),
                Output::PeerAnswer { to, answer } => (
                    Party::Server(to),
                    Event::Server(to, Box::new(Input::PeerAnswer(answer))),
                ),
            };
            self.network
                .send(now, Party::Server(from), to, &event, &mut consequences);
        }
        consequences
    }
}
