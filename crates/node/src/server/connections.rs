//! Incoming connections to the servers of a thread.

use super::peers::Siblings;
use futago_base::ServerId;
use futago_transport::{
    Budget, Channel, ConnectionHandler, ConnectionSlot, HandshakeError, Hello, Party, Receiver,
    Refusal, Role, Sender, split,
};
use futago_wire::Frame;
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};
use tokio::{sync::mpsc, task::spawn_local};

/// A connection to servers of this thread, numbered in the order of arrival.
pub type ConnectionId = u64;

/// A peer with this many unread bytes is not read from until it has read them.
const UNREAD_BYTES_MAX: usize = 16 << 20;

/// An event on connections.
pub enum Arrival {
    /// A peer has proven the key.
    Opened(ConnectionId, Connection),
    /// All messages that had arrived.
    Messages(ConnectionId, Vec<Frame>),
    /// The connection has ended.
    Closed(ConnectionId),
    /// A peer failed to prove the key to this server.
    TurnedAway(ServerId),
}

/// The sender of messages.
#[derive(Clone, Copy)]
pub enum Origin {
    /// A client, over this connection.
    Client(ConnectionId),
    /// A server.
    Server(ServerId),
}

/// An incoming connection.
pub struct Connection {
    /// The server at whose address it arrived.
    door: ServerId,
    origin: Origin,
    sender: Arc<Sender>,
}

/// The connections of a thread, which its servers share.
#[derive(Default)]
pub struct Connections {
    open: BTreeMap<ConnectionId, Connection>,
    /// Connections with queued messages.
    queued: BTreeSet<ConnectionId>,
}

impl Connections {
    pub fn insert(&mut self, id: ConnectionId, connection: Connection) {
        self.open.insert(id, connection);
    }

    pub fn remove(&mut self, id: ConnectionId) {
        self.open.remove(&id);
    }

    /// The server at whose address a connection arrived, and its peer.
    pub fn ends(&self, id: ConnectionId) -> Option<(ServerId, Origin)> {
        self.open.get(&id).map(|at| (at.door, at.origin))
    }

    /// The number of connections at a server's address.
    pub fn at(&self, door: ServerId) -> usize {
        self.open.values().filter(|at| at.door == door).count()
    }

    /// Sends a message, at the latest with [`Connections::flush`]. Returns whether the connection
    /// exists.
    pub fn post(&mut self, id: ConnectionId, frame: &Frame) -> bool {
        let Some(connection) = self.open.get(&id) else {
            return false;
        };
        if connection.sender.post(frame) {
            self.queued.insert(id);
        }
        true
    }

    /// Sends all queued messages.
    pub fn flush(&mut self) {
        for id in std::mem::take(&mut self.queued) {
            if let Some(connection) = self.open.get(&id) {
                connection.sender.flush();
            }
        }
    }

    /// Ends the connections that may address a server which leaves: those of clients and those at
    /// its own address. Peers connect again and repeat what was not answered.
    pub fn end_those_of(&mut self, server: ServerId) {
        self.flush();
        self.open.retain(|_, connection| {
            let is_client = matches!(connection.origin, Origin::Client(_));
            let ends = is_client || connection.door == server;
            if ends {
                connection.sender.close();
            }
            !ends
        });
    }

    /// Ends a connection that addresses a server which has left.
    pub fn end(&mut self, id: ConnectionId) {
        if let Some(connection) = self.open.remove(&id) {
            connection.sender.close();
        }
    }

    /// Ends a connection after a forbidden message and drops its other messages.
    pub fn cut_off(&mut self, id: ConnectionId) {
        tracing::warn!(connection = id, "cut off: a message out of place");
        if let Some(connection) = self.open.remove(&id) {
            connection.sender.close();
        }
    }
}

/// Admits peers that address this server, and passes their messages on.
pub struct Door {
    pub id: ServerId,
    pub siblings: Rc<Siblings>,
    pub is_secure: bool,
    pub budget: Budget,
    pub arrived: mpsc::Sender<Arrival>,
    /// The number of the thread's next connection.
    pub next: Rc<Cell<ConnectionId>>,
}

impl ConnectionHandler for Door {
    fn admit(&self, hello: &Hello) -> Result<Vec<ServerId>, Refusal> {
        if hello.to != Party::Server(self.id) {
            return Err(Refusal::Server);
        }
        if hello.is_secure != self.is_secure {
            return Err(Refusal::Security);
        }
        Ok(self.siblings.servers())
    }

    fn connected(&self, channel: Channel, hello: Hello, slot: ConnectionSlot) {
        let id = self.next.replace(self.next.get() + 1);
        let (receiver, sender) = split(channel, self.budget.clone());
        tracing::debug!(server = self.id.0, connection = id, from = ?hello.from, "connected");
        let arrived = self.arrived.clone();
        let connection = Connection {
            door: self.id,
            origin: match hello.from {
                Role::Client => Origin::Client(id),
                Role::Server(peer) => Origin::Server(peer),
            },
            sender: Arc::clone(&sender),
        };
        spawn_local(async move {
            let opened = Arrival::Opened(id, connection);
            if arrived.send(opened).await.is_ok() {
                serve(id, receiver, &sender, &arrived).await;
            }
            drop(slot);
        });
    }

    fn rejected(&self, error: &HandshakeError) {
        tracing::debug!(server = self.id.0, %error, "connection refused");
        // The count does not matter under such a load.
        let _ = self.arrived.try_send(Arrival::TurnedAway(self.id));
    }
}

async fn serve(
    id: ConnectionId,
    receiver: Receiver,
    sender: &Sender,
    arrived: &mpsc::Sender<Arrival>,
) {
    tokio::select! {
        () = read(id, receiver, sender, arrived) => {}
        error = sender.drive() => tracing::debug!(connection = id, %error, "connection closed"),
    }
    // The server has ended if it does not receive this.
    let _ = arrived.send(Arrival::Closed(id)).await;
}

/// Receives messages for as long as the peer reads its own.
async fn read(
    id: ConnectionId,
    receiver: Receiver,
    sender: &Sender,
    arrived: &mpsc::Sender<Arrival>,
) {
    loop {
        sender.room(UNREAD_BYTES_MAX).await;
        let mut frames = Vec::new();
        let ended = receiver.receive(&mut frames).await;
        if !frames.is_empty() && arrived.send(Arrival::Messages(id, frames)).await.is_err() {
            return;
        }
        if let Err(error) = ended {
            return tracing::debug!(connection = id, %error, "connection closed");
        }
    }
}
