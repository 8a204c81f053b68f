//! Connections that others make to this server.

use futago_base::ServerId;
use futago_transport::{
    Budget, Channel, Doorkeeper, HandshakeError, Hello, Place, Receiver, Refusal, Role, Sender,
    split,
};
use futago_wire::Frame;
use std::{cell::Cell, sync::Arc};
use tokio::{sync::mpsc, task::spawn_local};

/// A connection of this server, numbered in the order of arrival.
pub type ConnectionId = u64;

/// A peer that leaves so many bytes unread is not listened to until it has taken them.
const UNREAD_BYTES_MAX: usize = 16 << 20;

/// What happens on connections.
pub enum Arrival {
    /// A client, or the server that is named, has proved the key.
    Opened(ConnectionId, Option<ServerId>, Arc<Sender>),
    /// Messages, all that had arrived.
    Messages(ConnectionId, Vec<Frame>),
    /// The connection is gone.
    Closed(ConnectionId),
    /// Somebody did not prove the key.
    TurnedAway,
}

/// Lets those in who mean this server, and passes on what they send.
pub struct Door {
    pub id: ServerId,
    pub map_epoch: u32,
    pub budget: Budget,
    pub arrived: mpsc::Sender<Arrival>,
    pub next: Cell<ConnectionId>,
}

impl Doorkeeper for Door {
    fn admit(&self, hello: &Hello) -> Result<(), Refusal> {
        if hello.to != self.id {
            return Err(Refusal::Server);
        }
        if hello.map_epoch != self.map_epoch {
            Err(Refusal::Epoch)
        } else {
            Ok(())
        }
    }

    fn enter(&self, channel: Channel, hello: Hello, place: Place) {
        let id = self.next.replace(self.next.get() + 1);
        let (receiver, sender) = split(channel, self.budget.clone());
        tracing::debug!(server = self.id.0, connection = id, from = ?hello.from, "connected");
        let arrived = self.arrived.clone();
        let peer = match hello.from {
            Role::Client => None,
            Role::Server(peer) => Some(peer),
        };
        spawn_local(async move {
            let opened = Arrival::Opened(id, peer, Arc::clone(&sender));
            if arrived.send(opened).await.is_ok() {
                serve(id, receiver, &sender, &arrived).await;
            }
            drop(place);
        });
    }

    fn turned_away(&self, error: &HandshakeError) {
        tracing::debug!(server = self.id.0, %error, "connection refused");
        // With so much to do already the count does not matter.
        let _ = self.arrived.try_send(Arrival::TurnedAway);
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
    // The server is gone if it does not take this.
    let _ = arrived.send(Arrival::Closed(id)).await;
}

/// Takes in messages for as long as the peer takes what it is sent.
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
