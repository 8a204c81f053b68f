//! A cluster in one thread: servers with memory stores, and clients that call them directly.

use futago_base::{
    ClusterMap, Duration, Payload, RequestId, ServerId, SessionId, Time, map::Policy,
};
use futago_client::{Client, Context};
use futago_gate_fuse::Runtime;
use futago_server::{Input, Output, Server};
use futago_store::MemoryStore;
use futago_wire::{Failure, Outcome, Reply, Request};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

const PARTITIONS: usize = 4096;

type Work = Box<dyn FnOnce(Rc<Client<Seat>>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// A client's end of the thread.
pub struct Loopback(mpsc::UnboundedSender<Work>);

impl Runtime for Loopback {
    type Context = Seat;

    fn spawn<F>(&self, operation: impl FnOnce(Rc<Client<Seat>>) -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        let _ = self.0.send(Box::new(|client| Box::pin(operation(client))));
    }
}

/// Starts a cluster with so many clients. It ends when the last of them is dropped.
pub fn start(servers: usize, clients: usize, chunk_bytes: u32) -> Vec<Loopback> {
    let (ends, queues): (Vec<_>, Vec<_>) = (0..clients).map(|_| mpsc::unbounded_channel()).unzip();
    std::thread::spawn(move || run(servers, queues, chunk_bytes));
    ends.into_iter().map(Loopback).collect()
}

fn run(servers: usize, queues: Vec<mpsc::UnboundedReceiver<Work>>, chunk_bytes: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let room = Rc::new(RefCell::new(Room::new(servers)));
    let set = LocalSet::new();
    for (queue, session) in queues.into_iter().zip(1..) {
        let map = room.borrow().map.clone();
        let config = futago_client::Config {
            chunk_bytes,
            ..futago_client::Config::default()
        };
        let seat = Seat::new(Rc::clone(&room), SessionId(session));
        set.spawn_local(serve(queue, Rc::new(Client::new(seat, map, config))));
    }
    set.spawn_local(tick(Rc::downgrade(&room)));
    drop(room);
    runtime.expect("a runtime").block_on(set);
}

async fn serve(mut queue: mpsc::UnboundedReceiver<Work>, client: Rc<Client<Seat>>) {
    while let Some(work) = queue.recv().await {
        spawn_local(work(Rc::clone(&client)));
    }
}

async fn tick(room: std::rc::Weak<RefCell<Room>>) {
    while let Some(room) = room.upgrade() {
        let servers: Vec<ServerId> = room.borrow().map.servers().collect();
        for server in servers {
            room.borrow_mut().deliver(server, Input::Tick);
        }
        drop(room);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

struct Room {
    map: ClusterMap,
    servers: Vec<(Server, MemoryStore)>,
    callers: HashMap<RequestId, oneshot::Sender<(Outcome, Payload)>>,
    last: Time,
}

impl Room {
    fn new(servers: usize) -> Self {
        let map = ClusterMap::new(1, Policy::Modular, PARTITIONS, servers).expect("a map");
        let config = futago_server::Config {
            root_mode: 0o1777,
            // A client that only waits does not keep its session alive here.
            lease: Duration::from_secs(1 << 20),
            ..futago_server::Config::default()
        };
        let furnish = |id| {
            let server = Server::new(id, map.clone(), config.clone());
            let mut store = MemoryStore::new(4 << 30);
            let genesis = server.genesis(&store, present());
            store.apply(genesis);
            (server, store)
        };
        Self {
            servers: map.servers().map(furnish).collect(),
            callers: HashMap::new(),
            last: present(),
            map,
        }
    }

    fn deliver(&mut self, to: ServerId, input: Input) {
        let mut queue = VecDeque::from([(to, input)]);
        while let Some((to, input)) = queue.pop_front() {
            self.last = present().max(self.last + Duration(1));
            let (server, store) = &mut self.servers[usize::from(to.0)];
            let decision = server.handle(store, input, self.last);
            store.apply(decision.batch);
            for output in decision.outputs {
                match output {
                    Output::Peer { to, message } => queue.push_back((to, Input::Peer(message))),
                    Output::PeerAnswer { to, answer } => {
                        queue.push_back((to, Input::PeerAnswer(answer)));
                    }
                    Output::Answer {
                        request,
                        outcome,
                        payload,
                    } => {
                        if let Some(caller) = self.callers.remove(&request) {
                            let _ = caller.send((outcome, payload));
                        }
                    }
                }
            }
        }
    }
}

/// The place of one client.
pub struct Seat {
    room: Rc<RefCell<Room>>,
    session: SessionId,
    last: Cell<u64>,
    under_way: RefCell<BTreeSet<u64>>,
}

impl Seat {
    fn new(room: Rc<RefCell<Room>>, session: SessionId) -> Self {
        Self {
            room,
            session,
            last: Cell::new(0),
            under_way: RefCell::default(),
        }
    }

    fn acknowledged(&self) -> u64 {
        self.under_way
            .borrow()
            .first()
            .map_or(self.last.get(), |first| first - 1)
    }
}

impl Context for Seat {
    fn now(&self) -> Time {
        present()
    }

    fn random(&self) -> u64 {
        present().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7
    }

    fn session(&self) -> SessionId {
        self.session
    }

    fn next_sequence(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    async fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> Result<(Reply, Payload), Failure> {
        self.under_way.borrow_mut().insert(sequence);
        let id = RequestId {
            session: self.session,
            sequence,
        };
        let answer = loop {
            let (caller, answer) = oneshot::channel();
            self.room.borrow_mut().callers.insert(id, caller);
            let input = Input::Request {
                id,
                acknowledged: self.acknowledged(),
                request: request.clone(),
                payload: payload.clone(),
            };
            self.room.borrow_mut().deliver(to, input);
            match answer.await {
                Ok((Err(Failure::Busy), _)) => self.sleep(Duration::from_millis(1)).await,
                Ok((outcome, data)) => break outcome.map(|reply| (reply, data)),
                Err(_) => break Err(Failure::Errno(futago_base::Errno::EIO)),
            }
        };
        self.under_way.borrow_mut().remove(&sequence);
        answer
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(std::time::Duration::from_nanos(span.0)).await;
    }
}

fn present() -> Time {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Time(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
