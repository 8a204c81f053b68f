//! Servers and clients in one thread, with time and messages in a fixed order.

#![allow(dead_code, reason = "not every test needs all of it")]

use bytes::Bytes;
use futago_base::{
    ClusterMap, Duration, Errno, FileId, Name, NameHash, Payload, RequestId, ServerId, SessionId,
    Time, View, map::Policy, record::Door,
};
use futago_client::{Client, Config, Context, CreateFlags};
use futago_driver::{AdmissionConfig, ServerDriver};
use futago_server::{Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::{
    CacheReply, CacheRequest, Failure, FileState, Holder, LeaseRecall, NewContent, NewNode,
    Outcome, Push, Reply, Request,
};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::{Poll, Waker},
};

/// How long a client trusts its leases.
const LEASE_TRUST: Duration = Duration::from_secs(6);
const TICK: Duration = Duration::from_millis(100);

/// The servers, all messages under way, and the time.
pub struct World {
    servers: Vec<ServerDriver<Server, MemoryStore>>,
    messages: VecDeque<(ServerId, Input)>,
    answers: BTreeMap<RequestId, (Outcome, Payload)>,
    now: Time,
    last_tick: Time,
    sleepers: BTreeSet<Time>,
    /// The server that no client reaches.
    unreached: Option<ServerId>,
    /// The server that gets no messages.
    silent: Option<ServerId>,
    /// The recalls that clients have not handled, with the servers that sent them.
    recalls: Vec<(SessionId, ServerId, Vec<LeaseRecall>)>,
    /// Every request that a client has sent: the server and the name of the request.
    sent: Vec<(u16, String)>,
    /// The most messages that were under way at a time.
    under_way_max: usize,
    /// The requests to other clients that were not handled: to whom, and their numbers.
    cache_requests: Vec<(SessionId, u64, CacheRequest)>,
    cache_replies: BTreeMap<u64, (CacheReply, Payload)>,
    /// The data of one client's cache is damaged.
    damaged: Option<SessionId>,
    /// The next requests that fail before they leave the client, by name, in order.
    failing: VecDeque<(&'static str, Failure)>,
}

impl World {
    fn decide(&mut self, to: ServerId, input: Input) {
        if self.silent == Some(to) {
            return;
        }
        self.now = self.now + Duration::from_micros(1);
        let server = &mut self.servers[usize::from(to.0)];
        server.handle(input, self.now.into());
        let Ok(outputs) = server.release();
        for output in outputs {
            match output {
                Output::Reply {
                    request,
                    outcome,
                    payload,
                } => {
                    self.answers.insert(request, (outcome, payload));
                }
                Output::Push {
                    session,
                    push: Push::Recall(recalls),
                } => self.recalls.push((session, to, recalls)),
                Output::Push { .. } => {}
                Output::Peer { to, message } => {
                    self.messages.push_back((to, Input::Peer(message)));
                }
                Output::PeerAnswer { to, answer } => {
                    self.messages.push_back((to, Input::PeerAnswer(answer)));
                }
            }
        }
    }

    /// The failure of a request, if it is the next that fails.
    fn take_failure(&mut self, request: &Request) -> Option<Failure> {
        let name = name_of(request);
        let next = self.failing.pop_front_if(|(failing, _)| *failing == name);
        next.map(|(_, failure)| failure)
    }

    /// Handles one message, or advances the time to the next event.
    fn step(&mut self) {
        if let Some((to, input)) = self.messages.pop_front() {
            return self.decide(to, input);
        }
        let tick = self.last_tick + TICK;
        let sleeper = self.sleepers.pop_first();
        self.now = self.now.max(sleeper.unwrap_or(tick).min(tick));
        if let Some(sleeper) = sleeper.filter(|&sleeper| sleeper > self.now) {
            self.sleepers.insert(sleeper);
        }
        if self.now >= tick {
            self.last_tick = self.now;
            for server in 0..self.servers.len() as u16 {
                self.decide(ServerId(server), Input::Tick);
            }
        }
    }
}

/// The name of a request.
fn name_of(request: &Request) -> String {
    let text = format!("{request:?}");
    let name = text.split(|c: char| !c.is_alphanumeric()).next();
    name.unwrap_or_default().to_string()
}

/// A context that connects a client to the servers of the world.
pub struct Loop {
    world: Rc<RefCell<World>>,
    session: Cell<SessionId>,
    sequence: Cell<u64>,
    open: RefCell<BTreeSet<u64>>,
    /// Whether the client accepts leases.
    leases: bool,
    /// Whether it shares its cache.
    shares: Cell<bool>,
}

impl Context for Loop {
    fn now(&self) -> Time {
        self.world.borrow().now
    }

    fn random(&self) -> u64 {
        self.sequence.get().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn session(&self) -> SessionId {
        self.session.get()
    }

    fn next_sequence(&self) -> u64 {
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }

    async fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        if self.world.borrow().unreached == Some(to) {
            return Err(Failure::Errno(Errno::EIO));
        }
        if let Some(failure) = self.world.borrow_mut().take_failure(&request) {
            return Err(failure);
        }
        let id = RequestId {
            session: self.session.get(),
            sequence,
        };
        loop {
            self.submit(to, id, request.clone(), payload.clone());
            let (outcome, payload) = poll_fn(|_| {
                let answer = self.world.borrow_mut().answers.remove(&id);
                answer.map_or(Poll::Pending, Poll::Ready)
            })
            .await;
            if outcome == Err(Failure::Busy) {
                self.sleep(Duration::from_millis(1)).await;
                continue;
            }
            self.open.borrow_mut().remove(&sequence);
            return outcome.map(|reply| (reply, payload));
        }
    }

    fn door(&self) -> Option<Door> {
        self.shares.get().then(|| Door {
            host: self.session.get().0,
            address: Bytes::new(),
        })
    }

    async fn ask_client(
        &self,
        holder: Arc<Holder>,
        request: CacheRequest,
    ) -> Option<(CacheReply, Payload)> {
        let number = {
            let world = &mut *self.world.borrow_mut();
            world.now = world.now + Duration(1);
            let asked = (holder.session, world.now.0, request);
            world.cache_requests.push(asked);
            world.now.0
        };
        let reply = |_: &mut std::task::Context<'_>| {
            let reply = self.world.borrow_mut().cache_replies.remove(&number);
            reply.map_or(Poll::Pending, Poll::Ready)
        };
        Some(poll_fn(reply).await)
    }

    async fn sleep(&self, span: Duration) {
        let until = self.now() + span;
        self.world.borrow_mut().sleepers.insert(until);
        poll_fn(|_| {
            if self.now() >= until {
                Poll::Ready(())
            } else {
                self.world.borrow_mut().sleepers.insert(until);
                Poll::Pending
            }
        })
        .await;
    }
}

impl Loop {
    /// Starts a new session, as a client does when a server has ended the old one.
    pub fn start_anew(&self) {
        self.session.set(SessionId(self.session.get().0 + 1000));
    }

    fn submit(&self, to: ServerId, id: RequestId, request: Request, payload: Payload) {
        let mut open = self.open.borrow_mut();
        open.insert(id.sequence);
        let acknowledged = open.first().copied().unwrap_or(id.sequence) - 1;
        let mut world = self.world.borrow_mut();
        world.sent.push((to.0, name_of(&request)));
        let input = Input::Request {
            id,
            acknowledged,
            request,
            payload,
            leases: self.leases,
            introduces: true,
        };
        world.messages.push_back((to, input));
        world.under_way_max = world.under_way_max.max(world.messages.len());
    }
}

/// A cluster with an empty file system.
pub struct Cluster {
    world: Rc<RefCell<World>>,
    map: ClusterMap,
    clients: Cell<u64>,
}

impl Cluster {
    pub fn new(servers: usize, config: futago_server::Config) -> Self {
        let map = ClusterMap::new(1, Policy::Modular, 64, servers).expect("a map");
        let now = Time(1_000_000_000_000);
        let servers = map.servers().map(|id| {
            let server = Server::new(id, map.clone(), config.clone());
            let store = MemoryStore::new(1 << 30);
            ServerDriver::new(server, store, AdmissionConfig::default(), now)
        });
        let world = World {
            servers: servers.collect(),
            messages: VecDeque::new(),
            answers: BTreeMap::new(),
            now,
            last_tick: now,
            sleepers: BTreeSet::new(),
            unreached: None,
            silent: None,
            recalls: Vec::new(),
            sent: Vec::new(),
            under_way_max: 0,
            cache_requests: Vec::new(),
            cache_replies: BTreeMap::new(),
            damaged: None,
            failing: VecDeque::new(),
        };
        Self {
            world: Rc::new(RefCell::new(world)),
            map,
            clients: Cell::new(0),
        }
    }

    pub fn client(&self) -> Client<Loop> {
        self.client_with(None)
    }

    /// A client that caches under leases; [`Cluster::answering`] has it answer recalls.
    pub fn caching_client(&self) -> Client<Loop> {
        self.client_with(Some(LEASE_TRUST))
    }

    /// A client that shares its cache; [`Cluster::answering`] has it answer others.
    pub fn sharing_client(&self) -> Client<Loop> {
        self.sharing_client_of(Config::default())
    }

    /// A client that shares its cache, of these settings.
    pub fn sharing_client_of(&self, config: Config) -> Client<Loop> {
        let client = self.client_of(Config {
            lease_trust: Some(LEASE_TRUST),
            ..config
        });
        client.context().shares.set(true);
        client
    }

    /// The bytes that a client sends from its cache are damaged.
    pub fn damage_cache_of(&self, client: &User) {
        self.world.borrow_mut().damaged = Some(client.context().session());
    }

    /// A client with at most this much data of a transfer under way.
    pub fn client_with_window(&self, transfer_bytes_max: usize) -> Client<Loop> {
        let config = Config {
            transfer_bytes_max,
            ..Config::default()
        };
        self.client_of(config)
    }

    fn client_with(&self, lease_trust: Option<Duration>) -> Client<Loop> {
        let config = Config {
            lease_trust,
            ..Config::default()
        };
        self.client_of(config)
    }

    pub fn client_of(&self, config: Config) -> Client<Loop> {
        self.clients.set(self.clients.get() + 1);
        let context = Loop {
            world: Rc::clone(&self.world),
            session: Cell::new(SessionId(self.clients.get())),
            sequence: Cell::new(0),
            open: RefCell::new(BTreeSet::new()),
            leases: config.lease_trust.is_some(),
            shares: Cell::new(false),
        };
        let config = Config {
            chunk_bytes: CHUNK_BYTES,
            ..config
        };
        Client::new(context, self.map.clone(), config)
    }

    /// Runs a future to completion.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut task = std::task::Context::from_waker(Waker::noop());
        let deadline = self.now() + Duration::from_secs(600);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut task) {
                return output;
            }
            assert!(self.now() < deadline, "the operation hangs");
            self.world.borrow_mut().step();
        }
    }

    /// A future during which a client answers the recalls and the requests of other clients that
    /// it gets.
    pub async fn answering<T>(&self, client: &User, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut answers: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        poll_fn(|task| {
            for (server, recalls) in self.recalls_of(client.context().session()) {
                answers.push(Box::pin(client.recalled(server, recalls)));
            }
            for (number, request) in self.cache_requests_of(client.context().session()) {
                answers.push(Box::pin(self.serve_cache(client, number, request)));
            }
            let poll = future.as_mut().poll(task);
            answers.retain_mut(|answer| answer.as_mut().poll(task).is_pending());
            poll
        })
        .await
    }

    fn cache_requests_of(&self, session: SessionId) -> Vec<(u64, CacheRequest)> {
        let requests = &mut self.world.borrow_mut().cache_requests;
        let of_client = requests.extract_if(.., |(to, ..)| *to == session);
        of_client
            .map(|(_, number, request)| (number, request))
            .collect()
    }

    async fn serve_cache(&self, client: &User, number: u64, request: CacheRequest) {
        let (reply, mut data) = client.serve_cache(request).await.into_message();
        let mut world = self.world.borrow_mut();
        if world.damaged == Some(client.context().session()) && !data.is_empty() {
            let mut bytes = data.bytes().to_vec();
            bytes[0] ^= 1;
            data = Payload::from(Bytes::from(bytes));
        }
        world.cache_replies.insert(number, (reply, data));
    }

    fn recalls_of(&self, session: SessionId) -> Vec<(ServerId, Vec<LeaseRecall>)> {
        let recalls = &mut self.world.borrow_mut().recalls;
        let of_client = recalls.extract_if(.., |(to, ..)| *to == session);
        of_client
            .map(|(_, server, recall)| (server, recall))
            .collect()
    }

    /// Runs a future and returns its requests, with the server of each.
    pub fn traced<T>(&self, future: impl Future<Output = T>) -> (T, Vec<(u16, String)>) {
        self.world.borrow_mut().sent.clear();
        let output = self.run(future);
        (output, std::mem::take(&mut self.world.borrow_mut().sent))
    }

    pub fn now(&self) -> Time {
        self.world.borrow().now
    }

    /// The most messages that were under way at a time since the last call.
    pub fn take_under_way_max(&self) -> usize {
        std::mem::take(&mut self.world.borrow_mut().under_way_max)
    }

    /// Sets the server that clients cannot reach.
    pub fn cut_off(&self, server: Option<ServerId>) {
        self.world.borrow_mut().unreached = server;
    }

    /// Sets the server that gets no messages.
    pub fn silence(&self, server: Option<ServerId>) {
        self.world.borrow_mut().silent = server;
    }

    /// Lets the next requests with these names fail, one after the other.
    pub fn fail_next(&self, failing: &[(&'static str, Failure)]) {
        self.world.borrow_mut().failing = failing.iter().cloned().collect();
    }

    /// Whether a request that is to fail has not been sent yet.
    pub fn fails(&self) -> bool {
        !self.world.borrow().failing.is_empty()
    }

    /// Lets the servers finish their work.
    pub fn settle(&self) {
        for _ in 0..200 {
            self.world.borrow_mut().step();
        }
    }

    /// The number of inodes on all servers, and the bytes of their chunks.
    pub fn held(&self) -> (u64, usize) {
        let world = self.world.borrow();
        let stores = world.servers.iter().map(ServerDriver::store);
        let files = stores.clone().map(|store| store.space().files).sum();
        let chunks = stores.flat_map(MemoryStore::chunks);
        (files, chunks.map(|(_, data)| data.footprint_bytes()).sum())
    }

    /// The number of names of a directory on a server.
    pub fn names_at(&self, directory: FileId, server: ServerId) -> usize {
        use futago_base::Key;
        let world = self.world.borrow();
        let store = world.servers[usize::from(server.0)].store();
        let names = store.records().filter(|(key, _)| match key {
            Key::Entry(parent, ..) => *parent == directory,
            _ => false,
        });
        names.count()
    }

    /// The number of replies that servers keep for clients that might ask again.
    pub fn saved_replies(&self) -> usize {
        let world = self.world.borrow();
        let stores = world.servers.iter().map(ServerDriver::store);
        let keys = stores.flat_map(|store| store.records().map(|(key, _)| key));
        keys.filter(|key| matches!(key, futago_base::Key::Reply(_)))
            .count()
    }

    /// The remaining records of transactions and messages on all servers.
    pub fn left_over(&self) -> Vec<futago_base::Key> {
        use futago_base::Key;
        let world = self.world.borrow();
        let stores = world.servers.iter().map(ServerDriver::store);
        let keys = stores.flat_map(|store| store.records().map(|(key, _)| key.clone()));
        let left = keys.filter(|key| {
            matches!(
                key,
                Key::Locator(_)
                    | Key::Participant(_)
                    | Key::TransactionStatus(_)
                    | Key::Outbox(..)
                    | Key::Parked(..)
                    | Key::HeldReply(_)
            )
        });
        left.collect()
    }
}

/// Small chunks, so that small files have several.
pub const CHUNK_BYTES: u32 = 4096;

pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).expect("a name")
}

pub fn file() -> NewNode {
    NewNode {
        content: NewContent::File {
            chunk_bytes: CHUNK_BYTES,
        },
        mode: 0o644,
        uid: 1,
        gid: 2,
    }
}

pub fn symlink(target: &str) -> NewNode {
    NewNode {
        content: NewContent::Symlink(Bytes::copy_from_slice(target.as_bytes())),
        ..file()
    }
}

pub fn data(bytes: &[u8]) -> Payload {
    Payload::from(Bytes::copy_from_slice(bytes))
}

/// Bytes that depend on their offset and a seed.
pub fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|at| ((at * 7 + at / 251 + seed) % 251) as u8)
        .collect()
}

/// A client of the cluster.
pub type User = Client<Loop>;

pub async fn create(
    client: &User,
    directory: FileId,
    text: &str,
    node: NewNode,
    (exclusive, open): (bool, bool),
) -> Result<(FileState, bool), Errno> {
    let name = name(text);
    let made = client.create(
        directory,
        &name,
        node,
        CreateFlags { exclusive, open },
        Payload::empty(),
    );
    made.await
}

pub async fn make_file(client: &User, directory: FileId, text: &str) -> FileState {
    let made = create(client, directory, text, file(), (true, false)).await;
    let (state, created) = made.expect("create");
    assert!(created);
    state
}

pub async fn make_directory(client: &User, directory: FileId, text: &str) -> FileId {
    let name = name(text);
    let made = client.make_directory(directory, &name, 0o755, 1, 2);
    made.await.expect("make_directory").attributes.id
}

/// A cluster whose directories split early.
pub fn splitting_early(servers: usize) -> Cluster {
    let config = futago_server::Config {
        split_entries: 16,
        ..Default::default()
    };
    Cluster::new(servers, config)
}

/// The file of a name, if the name exists.
pub async fn exists(client: &User, directory: FileId, text: &str) -> Option<FileId> {
    match client.lookup(directory, &name(text)).await {
        Ok(state) => Some(state.attributes.id),
        Err(Errno::ENOENT) => None,
        Err(errno) => panic!("lookup of {text}: {errno}"),
    }
}

/// All names of a directory; none may be listed twice.
pub async fn names(client: &User, directory: FileId) -> Result<BTreeSet<String>, Errno> {
    let mut after = NameHash(0);
    let mut all = BTreeSet::new();
    loop {
        let entries = client.read_directory(directory, after, 7, false).await?;
        let Some(last) = entries.last() else {
            return Ok(all);
        };
        after = last.name.hash();
        for entry in entries {
            assert!(
                all.insert(entry.name.to_string()),
                "{} came twice",
                entry.name
            );
        }
    }
}
