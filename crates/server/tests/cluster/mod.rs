//! Servers with memory stores in one process. Tests feed the inputs and inspect every output.

#![allow(dead_code, reason = "each test file uses some of it")]

use bytes::Bytes;
use futago_base::{
    BucketStart, ClusterMap, Duration, FileId, Incarnation, Name, Payload, RequestId, ServerId,
    SessionId, Time, map::Policy,
};
use futago_server::{Config, Input, Output, Server, TransactionCounts};
use futago_store::MemoryStore;
use futago_wire::{
    FileState, NewContent, NewNode, Outcome, Peer, PeerAnswer, Reply, Request, Spot,
};

pub const CHUNK_BYTES: u32 = 4096;
pub const ROOT: FileId = FileId::ROOT;

pub struct Cluster {
    pub servers: Vec<Server>,
    pub stores: Vec<MemoryStore>,
    pub now: Time,
    pub sequence: u64,
    /// The counts of all servers together.
    pub transactions: TransactionCounts,
}

impl Cluster {
    pub fn new(count: usize, config: Config) -> Self {
        Self::with_limit(count, config, 1 << 30)
    }

    pub fn with_limit(count: usize, config: Config, limit_bytes: u64) -> Self {
        let map = ClusterMap::new(1, Policy::Modular, 64, count).unwrap();
        let now = Time(1_000_000_000_000);
        let servers: Vec<Server> = map
            .servers()
            .map(|id| Server::new(id, map.clone(), config.clone()))
            .collect();
        let stores = servers
            .iter()
            .map(|server| {
                let mut store = MemoryStore::new(limit_bytes);
                let genesis = server.genesis(&store, now);
                store.apply(genesis);
                store
            })
            .collect();
        Self {
            servers,
            stores,
            now,
            sequence: 0,
            transactions: TransactionCounts::default(),
        }
    }

    pub fn one() -> Self {
        Self::new(1, Config::default())
    }

    /// Restarts a server in a new incarnation with an empty store.
    pub fn restart(&mut self, server: u16, incarnation: u64) {
        let at = usize::from(server);
        self.servers[at] = self.servers[at].clone().in_life(Incarnation(incarnation));
        let mut store = MemoryStore::new(1 << 30);
        let genesis = self.servers[at].genesis(&store, self.now);
        store.apply(genesis);
        self.stores[at] = store;
    }

    /// Handles one input on a server, applies its batch and returns its outputs.
    pub fn input(&mut self, to: u16, input: Input) -> Vec<Output> {
        self.now = self.now + Duration::from_micros(1);
        let server = usize::from(to);
        let decision = self.servers[server].handle(&self.stores[server], input, self.now);
        self.stores[server].apply(decision.batch);
        let (all, more) = (&mut self.transactions, decision.transactions);
        all.begun += more.begun;
        all.committed += more.committed;
        all.aborted += more.aborted;
        all.conflicts += more.conflicts;
        decision.outputs
    }

    pub fn next_id(&mut self) -> RequestId {
        self.sequence += 1;
        RequestId {
            session: SessionId(7),
            sequence: self.sequence,
        }
    }

    pub fn request(&mut self, to: u16, id: RequestId, request: Request) -> Vec<Output> {
        self.request_with(to, id, request, &[])
    }

    pub fn request_with(
        &mut self,
        to: u16,
        id: RequestId,
        request: Request,
        data: &[u8],
    ) -> Vec<Output> {
        let payload = Payload::from(Bytes::copy_from_slice(data));
        self.input(
            to,
            Input::Request {
                id,
                acknowledged: 0,
                request,
                payload,
                leases: false,
                introduces: true,
            },
        )
    }

    /// Sends a request whose only output is its reply.
    pub fn ask(&mut self, to: u16, request: Request) -> Outcome {
        self.ask_with(to, request, &[]).0
    }

    pub fn ask_with(&mut self, to: u16, request: Request, data: &[u8]) -> (Outcome, Payload) {
        let id = self.next_id();
        match <[Output; 1]>::try_from(self.request_with(to, id, request, data)) {
            Ok(
                [
                    Output::Reply {
                        request,
                        outcome,
                        payload,
                    },
                ],
            ) if request == id => (outcome, payload),
            other => panic!("expected one answer, not {other:?}"),
        }
    }

    /// Delivers messages between servers until there are no more; returns the replies to clients.
    pub fn settle(&mut self, from: u16, outputs: Vec<Output>) -> Vec<(RequestId, Outcome)> {
        let mut answers = Vec::new();
        let mut queue: std::collections::VecDeque<Output> = outputs.into();
        let _ = from;
        while let Some(output) = queue.pop_front() {
            match output {
                Output::Reply {
                    request, outcome, ..
                } => answers.push((request, outcome)),
                Output::Push { .. } => {}
                Output::Peer { to, message } => {
                    queue.extend(self.input(to.0, Input::Peer(message)));
                }
                Output::PeerAnswer { to, answer } => {
                    queue.extend(self.input(to.0, Input::PeerAnswer(answer)));
                }
            }
        }
        answers
    }

    /// Runs a request with all its messages and returns its outcome.
    pub fn run(&mut self, to: u16, request: Request) -> Outcome {
        let id = self.next_id();
        let outputs = self.request(to, id, request);
        match self.settle(to, outputs).as_slice() {
            [(answered, outcome)] if *answered == id => outcome.clone(),
            other => panic!("expected one answer, not {other:?}"),
        }
    }

    pub fn create(&mut self, to: u16, at: Spot) -> FileState {
        match self.ask(to, create(at)) {
            Ok(Reply::Found {
                state: Some(state),
                created: true,
                ..
            }) => state,
            other => panic!("not created: {other:?}"),
        }
    }

    pub fn attributes(&mut self, to: u16, id: FileId) -> FileState {
        match self.ask(to, Request::GetAttributes(vec![id])) {
            Ok(Reply::Files(files)) => files[0].expect("the file is gone"),
            other => panic!("no attributes: {other:?}"),
        }
    }
}

pub fn name(text: &str) -> Name {
    Name::new(Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

pub fn spot(directory: FileId, text: &str) -> Spot {
    Spot {
        directory,
        bucket: BucketStart(0),
        name: name(text),
    }
}

pub fn file() -> NewNode {
    let content = NewContent::File {
        chunk_bytes: CHUNK_BYTES,
    };
    NewNode {
        content,
        mode: 0o644,
        uid: 1000,
        gid: 100,
    }
}

pub fn create(at: Spot) -> Request {
    Request::Create {
        at,
        node: file(),
        exclusive: true,
        open: false,
    }
}

pub fn peer_answers(outputs: &[Output]) -> Vec<PeerAnswer> {
    let answer = |output: &Output| match output {
        Output::PeerAnswer { answer, .. } => Some(*answer),
        _ => None,
    };
    outputs.iter().filter_map(answer).collect()
}

pub fn peers(outputs: &[Output]) -> Vec<(ServerId, Peer)> {
    let peer = |output: &Output| match output {
        Output::Peer { to, message } => Some((*to, message.clone())),
        _ => None,
    };
    outputs.iter().filter_map(peer).collect()
}

/// Writes `offset..end` of a file; the request may bring the first part of the data.
pub fn write(id: FileId, offset: u64, end: u64) -> Request {
    Request::Write {
        id,
        offset,
        end,
        covered_from: offset,
        kill_privileges: false,
        written: None,
        heard: None,
    }
}
