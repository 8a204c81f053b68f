//! Connections to other servers. Servers of the same thread need none; to each other server one is
//! made on demand.
//!
//! Messages that cannot be sent are dropped, because the channels between servers retry unconfirmed
//! messages.

use super::shard::Setup;
use crate::{cluster::ClusterId, locations::SharedLocations};
use futago_base::ServerId;
use futago_transport::{
    Budget, Channel, ClusterKey, Continuation, HandshakeError, Hello, Party, Provider, Role,
    Sender, reach, split,
};
use futago_wire::Frame;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::Notify,
    task::{AbortHandle, spawn_local},
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
#[derive(Default)]
pub struct Siblings {
    servers: RefCell<BTreeSet<ServerId>>,
    messages: RefCell<VecDeque<(ServerId, Frame)>>,
}

impl Siblings {
    /// A server is on the thread from now on.
    pub fn add(&self, server: ServerId) {
        self.servers.borrow_mut().insert(server);
    }

    /// A server has left the thread.
    pub fn remove(&self, server: ServerId) {
        self.servers.borrow_mut().remove(&server);
    }

    /// The servers of the thread.
    pub fn servers(&self) -> Vec<ServerId> {
        self.servers.borrow().iter().copied().collect()
    }

    /// The number of servers of the thread.
    pub fn count(&self) -> u64 {
        self.servers.borrow().len() as u64
    }

    fn contains(&self, server: ServerId) -> bool {
        self.servers.borrow().contains(&server)
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
    is_secure: bool,
    fabric: Option<Provider>,
    cluster: ClusterId,
    locations: SharedLocations,
    key: ClusterKey,
    budget: Budget,
    links: BTreeMap<ServerId, (Rc<Link>, AbortHandle)>,
}

struct Link {
    from: ServerId,
    to: ServerId,
    is_secure: bool,
    fabric: Option<Provider>,
    cluster: ClusterId,
    locations: SharedLocations,
    key: ClusterKey,
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
    pub fn new(setup: &Setup, siblings: Rc<Siblings>) -> Self {
        Self {
            id: setup.id,
            siblings,
            is_secure: setup.cluster.secure,
            fabric: setup.cluster.fabric.clone(),
            cluster: setup.cluster.id,
            locations: setup.locations.clone(),
            key: setup.cluster.key.clone(),
            budget: setup.budget.clone(),
            links: BTreeMap::new(),
        }
    }

    /// Queues a frame for a server; [`Peers::flush`] sends it.
    pub fn send(&mut self, to: ServerId, frame: Frame) {
        if self.siblings.contains(to) {
            self.siblings
                .messages
                .borrow_mut()
                .push_back((self.id, frame));
            return;
        }
        let link = self.link(to);
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
        for (link, _) in self.links.values() {
            if let Some(sender) = &link.state.borrow().sender
                && sender.queued_bytes() > 0
            {
                sender.flush();
            }
        }
    }

    fn link(&mut self, to: ServerId) -> Rc<Link> {
        if let Some((link, _)) = self.links.get(&to) {
            return Rc::clone(link);
        }
        let link = Rc::new(Link {
            from: self.id,
            to,
            is_secure: self.is_secure,
            fabric: self.fabric.clone(),
            cluster: self.cluster,
            locations: self.locations.clone(),
            key: self.key.clone(),
            budget: self.budget.clone(),
            state: RefCell::default(),
            wanted: Notify::new(),
        });
        let task = spawn_local(keep_connected(Rc::clone(&link)));
        let entry = (Rc::clone(&link), task.abort_handle());
        self.links.insert(to, entry);
        link
    }
}

impl Drop for Peers {
    /// A server that leaves its thread leaves no connections behind.
    fn drop(&mut self) {
        self.links.values().for_each(|(_, task)| task.abort());
    }
}

/// Connects whenever there are messages to send and no connection.
async fn keep_connected(link: Rc<Link>) {
    loop {
        link.wanted.notified().await;
        match timeout(CONNECT_MAX, connect(&link)).await {
            Ok(Ok(channel)) => run(&link, channel).await,
            Ok(Err(error)) => tracing::debug!(server = link.to.0, %error, "not connected"),
            Err(_) => tracing::debug!(server = link.to.0, "not connected in time"),
        }
        *link.state.borrow_mut() = State::default();
        sleep(CONNECT_PAUSE).await;
    }
}

/// Connects to the server where it is now.
async fn connect(link: &Link) -> Result<Channel, HandshakeError> {
    let location = link.locations.of(link.to).ok_or(HandshakeError::Server)?;
    let hello = Hello {
        from: Role::Server(link.from),
        to: Party::Server(link.to),
        map_epoch: location.epoch,
        continues: Continuation::Socket,
        is_secure: link.is_secure,
    };
    let (cluster, fabric) = (link.cluster.0, link.fabric.as_ref());
    let reaching = reach(&location.address, cluster, &link.key, fabric, hello);
    Ok(reaching.await?.0)
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
        error = sender.drive() => tracing::debug!(server = link.to.0, %error, "disconnected"),
    }
}
