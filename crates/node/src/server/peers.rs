//! The ways to other servers: to those of the same thread none is needed, to each other one a connection is made when there is
//! something to say.
//!
//! What cannot be sent is dropped: the channels between servers send again what is not confirmed.

use crate::{Cluster, cluster::ClusterId};
use futago_base::ServerId;
use futago_transport::{Address, Budget, Channel, ClusterKey, Hello, Role, Sender, reach, split};
use futago_wire::Frame;
use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::Notify,
    task::spawn_local,
    time::{sleep, timeout},
};

/// A connection that takes longer to make is given up.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long to wait after a failed attempt.
const CONNECT_PAUSE: Duration = Duration::from_millis(200);
/// How many messages are kept for a server that is being connected.
const WAITING_MAX: usize = 4096;

/// A server that leaves so many bytes unread gets no more until it has taken them.
const UNREAD_BYTES_MAX: usize = 64 << 20;

/// The servers of a thread, and what they have told each other.
pub struct Siblings {
    pub servers: Vec<ServerId>,
    told: RefCell<VecDeque<(ServerId, Frame)>>,
}

impl Siblings {
    pub fn new(servers: Vec<ServerId>) -> Self {
        let told = RefCell::default();
        Self { servers, told }
    }

    /// The next message, and who has sent it.
    pub fn next_message(&self) -> Option<(ServerId, Frame)> {
        self.told.borrow_mut().pop_front()
    }
}

/// The ways to the other servers.
pub struct Peers {
    id: ServerId,
    siblings: Rc<Siblings>,
    map_epoch: u32,
    is_secure: bool,
    cluster: ClusterId,
    addresses: Vec<Address>,
    key: ClusterKey,
    budget: Budget,
    links: BTreeMap<ServerId, Rc<Link>>,
}

struct Link {
    address: Address,
    cluster: ClusterId,
    key: ClusterKey,
    hello: Hello,
    budget: Budget,
    state: RefCell<State>,
    /// There is something to send and no connection.
    wanted: Notify,
}

#[derive(Default)]
struct State {
    sender: Option<Arc<Sender>>,
    waiting: Vec<Frame>,
}

impl Peers {
    pub fn new(id: ServerId, siblings: Rc<Siblings>, cluster: &Cluster, budget: Budget) -> Self {
        let addresses = cluster
            .servers
            .iter()
            .map(|entry| entry.address.clone())
            .collect();
        let (map_epoch, key) = (cluster.epoch, cluster.key.clone());
        Self {
            id,
            siblings,
            map_epoch,
            is_secure: cluster.secure,
            cluster: cluster.id,
            addresses,
            key,
            budget,
            links: BTreeMap::new(),
        }
    }

    /// Queues a frame for a server; it leaves with [`Peers::flush`].
    pub fn send(&mut self, to: ServerId, frame: Frame) {
        if self.siblings.servers.contains(&to) {
            self.siblings.told.borrow_mut().push_back((self.id, frame));
            return;
        }
        let Some(link) = self.link(to) else { return };
        let mut state = link.state.borrow_mut();
        match &state.sender {
            Some(sender) if sender.queued_bytes() < UNREAD_BYTES_MAX => sender.queue(&frame),
            None if state.waiting.len() < WAITING_MAX => {
                state.waiting.push(frame);
                link.wanted.notify_one();
            }
            _ => {}
        }
    }

    /// Sends everything that was queued.
    pub fn flush(&mut self) {
        for link in self.links.values() {
            if let Some(sender) = &link.state.borrow().sender
                && sender.queued_bytes() > 0
            {
                sender.flush();
            }
        }
    }

    fn link(&mut self, to: ServerId) -> Option<Rc<Link>> {
        if let Some(link) = self.links.get(&to) {
            return Some(Rc::clone(link));
        }
        let link = Rc::new(Link {
            address: self.addresses.get(usize::from(to.0))?.clone(),
            cluster: self.cluster,
            key: self.key.clone(),
            hello: Hello {
                from: Role::Server(self.id),
                to,
                map_epoch: self.map_epoch,
                hands_over_memory: false,
                is_secure: self.is_secure,
            },
            budget: self.budget.clone(),
            state: RefCell::default(),
            wanted: Notify::new(),
        });
        self.links.insert(to, Rc::clone(&link));
        spawn_local(keep_connected(Rc::clone(&link)));
        Some(link)
    }
}

/// Connects whenever there is something to send and no connection.
async fn keep_connected(link: Rc<Link>) {
    loop {
        link.wanted.notified().await;
        let reaching = reach(&link.address, link.cluster.0, &link.key, link.hello);
        let outcome = timeout(CONNECT_MAX, reaching).await;
        match outcome {
            Ok(Ok((channel, _))) => run(&link, channel).await,
            Ok(Err(error)) => tracing::debug!(address = %link.address, %error, "not connected"),
            Err(_) => tracing::debug!(address = %link.address, "not connected in time"),
        }
        *link.state.borrow_mut() = State::default();
        sleep(CONNECT_PAUSE).await;
    }
}

/// Sends over a connection until it breaks. What the other server has to say comes over a connection
/// of its own.
async fn run(link: &Link, channel: Channel) {
    let (receiver, sender) = split(channel, link.budget.clone());
    let waiting = std::mem::take(&mut link.state.borrow_mut().waiting);
    waiting.iter().for_each(|frame| sender.queue(frame));
    sender.flush();
    link.state.borrow_mut().sender = Some(Arc::clone(&sender));
    let listen = async {
        let mut ignored = Vec::new();
        while receiver.receive(&mut ignored).await.is_ok() {
            ignored.clear();
        }
    };
    tokio::select! {
        () = listen => {}
        error = sender.drive() => tracing::debug!(address = %link.address, %error, "disconnected"),
    }
}
