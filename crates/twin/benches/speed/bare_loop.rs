//! The handlers that a simulation calls, without the simulation: one message after the other in the
//! order in which they are sent. No machine, no virtual time, no drivers, no undo, no digest.

use futago_base::{
    ClusterMap, Duration, FileId, Name, Partition, Payload, RequestId, ServerId, SessionId, Time,
};
use futago_client::{Buckets, Client, Context, Memory};
use futago_des::{ProcessId, RandomStream};
use futago_server::{Input, Output, PlantedDirectory, Server};
use futago_store::MemoryStore;
use futago_twin::world::{Activity, Amount, Directory, Names, Phase, Setup};
use futago_wire::{Failure, Outcome, Reply, Request};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

/// The counts of a run.
pub struct Ran {
    /// Operations of all clients.
    pub operations: u64,
    /// Messages that reached a server, for the operations alone.
    pub requests: u64,
    /// How long it took, in seconds.
    pub wall_s: f64,
}

/// Has every client of a setup perform its operations of the only phase.
pub fn run(setup: &Setup) -> Ran {
    let mut bare = Bare::new(setup);
    let begun = Instant::now();
    bare.run();
    Ran {
        operations: bare.post.performed.get(),
        requests: bare.requests - bare.clients.len() as u64,
        wall_s: begun.elapsed().as_secs_f64(),
    }
}

/// A message under way.
enum Message {
    Input(ServerId, Input),
    Answer(RequestId, Outcome, Payload),
}

/// State that the loop and the clients share.
#[derive(Default)]
struct Post {
    sent: RefCell<VecDeque<Message>>,
    now: Cell<Time>,
    performed: Cell<u64>,
}

/// A client's way to the servers.
#[derive(Clone)]
struct Way(Rc<Line>);

struct Line {
    session: SessionId,
    sequence: Cell<u64>,
    answer: RefCell<Option<(Outcome, Payload)>>,
    post: Rc<Post>,
}

impl Context for Way {
    fn now(&self) -> Time {
        self.0.post.now.get()
    }

    fn random(&self) -> u64 {
        unreachable!("nobody has to try again")
    }

    fn session(&self) -> SessionId {
        self.0.session
    }

    fn next_sequence(&self) -> u64 {
        self.0.sequence.set(self.0.sequence.get() + 1);
        self.0.sequence.get()
    }

    async fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        let session = self.0.session;
        let input = Input::Request {
            id: RequestId { session, sequence },
            acknowledged: sequence - 1,
            request,
            payload,
            leases: false,
            introduces: true,
        };
        let message = Message::Input(to, input);
        self.0.post.sent.borrow_mut().push_back(message);
        let (outcome, payload) = poll_fn(|_| match self.0.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await;
        outcome.map(|reply| (reply, payload))
    }

    async fn sleep(&self, _: Duration) {
        unreachable!("nobody has to try again")
    }
}

/// A client: the real core, and a future that performs one operation after the other.
struct Node {
    way: Way,
    operations: Pin<Box<dyn Future<Output = ()>>>,
}

impl Node {
    fn new(number: u32, setup: &Setup, map: &ClusterMap, known: &Known, post: &Rc<Post>) -> Self {
        let way = Way(Rc::new(Line {
            session: SessionId(u64::from(number) + 1),
            sequence: Cell::new(0),
            answer: RefCell::new(None),
            post: Rc::clone(post),
        }));
        let config = setup.protocol.client;
        let mut memory = Memory::new(&config);
        memory.remember_buckets(known.directory, Arc::clone(&known.buckets));
        let core = Client::with_memory(way.clone(), map.clone(), config, memory);
        let (phase, shared) = (setup.phases[0].clone(), Rc::clone(&known.shared));
        let operations = perform(core, number, phase, shared, known.directory);
        Self {
            way,
            operations: Box::pin(operations),
        }
    }

    fn go_on(&mut self) {
        let mut context = std::task::Context::from_waker(Waker::noop());
        // Once all is done, nothing more is sent, and nothing comes.
        let _ = self.operations.as_mut().poll(&mut context);
    }
}

/// The directory of the phase, and what all clients know of it.
struct Known {
    directory: FileId,
    buckets: Arc<Buckets>,
    shared: Rc<[Directory]>,
}

/// The work of a simulated client: it asks for the directory and performs its operations.
async fn perform(
    core: Client<Way>,
    client: u32,
    phase: Phase,
    shared: Rc<[Directory]>,
    directory: FileId,
) {
    let (Activity::Names(mix), Amount::Operations(count)) = (&phase.activity, phase.amount) else {
        unreachable!("the phase has so many operations on names");
    };
    core.parent(directory).await.expect("it is there");
    let (mut names, mut random) = (Names::default(), RandomStream::new(1, ProcessId(client)));
    for _ in 0..count {
        let work = names.next(mix, phase.place, directory, &mut random);
        let performed = work.perform(&core, client, &shared, Payload::empty());
        performed.await.expect("it succeeds");
        let done = &core.context().0.post.performed;
        done.set(done.get() + 1);
    }
}

struct Bare {
    servers: Vec<(Server, MemoryStore)>,
    clients: Vec<Node>,
    post: Rc<Post>,
    requests: u64,
}

/// The time from one message to the next.
const STEP: Duration = Duration::from_micros(1);

impl Bare {
    fn new(setup: &Setup) -> Self {
        let protocol = &setup.protocol;
        let count = |of: fn(&futago_twin::world::Host) -> u32| setup.hosts.iter().map(of).sum();
        let (servers, clients): (u32, u32) =
            (count(|host| host.servers), count(|host| host.clients));
        let map = ClusterMap::new(1, protocol.policy, protocol.partitions, servers as usize)
            .expect("the setup is valid");
        let shared = &setup.directories[0];
        let level = shared.buckets.ilog2() as u8;
        let planted = PlantedDirectory {
            // Where the simulation plants its first directory.
            id: FileId::new(Partition(0), 1 << 47),
            name: Name::new(shared.name.clone()).expect("the setup is valid"),
            level,
        };
        let known = Known {
            directory: planted.id,
            buckets: Arc::new(Buckets::at_level(level)),
            shared: setup.directories.clone().into(),
        };
        let post = Rc::<Post>::default();
        post.now.set(Time(1_000_000_000));
        Self {
            servers: map
                .servers()
                .map(|id| new_server(id, setup, &map, &planted))
                .collect(),
            clients: (0..clients)
                .map(|number| Node::new(number, setup, &map, &known, &post))
                .collect(),
            post,
            requests: 0,
        }
    }

    fn run(&mut self) {
        for client in &mut self.clients {
            client.go_on();
        }
        loop {
            let next = self.post.sent.borrow_mut().pop_front();
            let Some(message) = next else { return };
            self.post.now.set(self.post.now.get() + STEP);
            match message {
                Message::Input(to, input) => self.decide(to, input),
                Message::Answer(request, outcome, payload) => {
                    let client = &mut self.clients[request.session.0 as usize - 1];
                    client.way.0.answer.replace(Some((outcome, payload)));
                    client.go_on();
                }
            }
        }
    }

    fn decide(&mut self, to: ServerId, input: Input) {
        self.requests += 1;
        let (core, store) = &mut self.servers[usize::from(to.0)];
        let decision = core.handle(store, input, self.post.now.get());
        store.apply(decision.batch);
        let mut sent = self.post.sent.borrow_mut();
        sent.extend(
            decision
                .outputs
                .into_iter()
                .filter_map(|output| match output {
                    Output::Reply {
                        request,
                        outcome,
                        payload,
                    } => Some(Message::Answer(request, outcome, payload)),
                    // Its clients take no leases.
                    Output::Push { .. } => None,
                    Output::Peer { to, message } => Some(Message::Input(to, Input::Peer(message))),
                    Output::PeerAnswer { to, answer } => {
                        Some(Message::Input(to, Input::PeerAnswer(answer)))
                    }
                }),
        );
    }
}

fn new_server(
    id: ServerId,
    setup: &Setup,
    map: &ClusterMap,
    planted: &PlantedDirectory,
) -> (Server, MemoryStore) {
    let mut config = setup.protocol.server.clone();
    config.lease = Duration::MAX;
    let core = Server::new(id, map.clone(), config);
    let mut store = MemoryStore::new(setup.protocol.store_bytes);
    store.apply(core.genesis(&store, Time(1)));
    store.apply(core.plant(&store, planted, Time(1)));
    (core, store)
}
