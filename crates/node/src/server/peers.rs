//! Connections to other servers. Servers of the same thread need none; to each other server one is
//! made on demand.
//!
//! Messages that cannot be sent are dropped, because the channels between servers retry unconfirmed
//! messages.

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

/// The longest time for connecting.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// The pause after a failed attempt.
const CONNECT_PAUSE: Duration = Duration::from_millis(200);
/// The most messages queued for a server that is being connected.
const WAITING_MAX: usize = 4096;

/// A server with this many unread bytes gets no more until it has read them.
const UNREAD_BYTES_MAX: usize = 64 << 20;

/// The servers of a thread, and their messages to each other.
pub struct Siblings {
    pub servers: Vec<ServerId>,
    messages: RefCell<VecDeque<(ServerId, Frame)>>,
}

impl Siblings {
    pub fn new(servers: Vec<ServerId>) -> Self {
        let messages = RefCell::default();
        Self { servers, messages }
    }

    /// The next message, and its sender.
    pub fn next_message(&self) -> Option<(ServerId, Frame)> {
        self.messages.borrow_mut().pop_front()
    }
}

/// The connections to the other servers.
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
    /// There are messages to send and no connection.
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

    /// Queues a frame for a server; [`Peers::flush`] sends it.
    pub fn send(&mut self, to: ServerId, frame: Frame) {
        if self.siblings.servers.contains(&to) {
            self.siblings
                .messages
                .borrow_mut()
                .push_back((self.id, frame));
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

    /// Sends all queued frames.
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

/// Connects whenever there are messages to send and no connection.
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

/// Sends over a connection until it breaks. The other server sends over a connection of its own.
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
