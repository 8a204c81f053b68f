//! Accepts connections. A peer must prove the key within a deadline, and unproven peers cannot
//! exclude others.

use crate::{
    Channel, ClusterKey, Hello, Listener, Stream,
    fabric::{FabricStream, Provider},
    handshake::{Continuation, DEADLINE, HandshakeError, Refusal, welcome},
    shared_memory::MemoryStream,
};
use futago_base::ServerId;
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io,
    rc::Rc,
    time::Duration,
};
use tokio::{
    task::{AbortHandle, spawn_local},
    time::timeout,
};

/// The most connections that have not proven the key yet. One more evicts the oldest: an honest
/// peer needs milliseconds, so the oldest is an idle one.
const UNPROVEN_MAX: usize = 1024;
/// The pause after the system has run out of descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// Decides about peers that have proven the key.
pub trait ConnectionHandler {
    /// Whether to admit a peer, and the servers that its messages may address, at most
    /// [`SERVERS_MAX`](crate::handshake::SERVERS_MAX).
    fn admit(&self, hello: &Hello) -> Result<Vec<ServerId>, Refusal>;
    /// An admitted peer is connected. The slot counts as used until it is dropped.
    fn connected(&self, channel: Channel, hello: Hello, slot: ConnectionSlot);
    /// A peer was rejected.
    fn rejected(&self, error: &HandshakeError);
}

/// A counted slot for one connection, freed when it is dropped.
#[derive(Debug)]
pub struct ConnectionSlot(Rc<Cell<usize>>);

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Accepts connections.
pub struct Acceptor<D> {
    key: ClusterKey,
    connections_max: usize,
    /// The provider of the cluster's fabric.
    fabric: Option<Provider>,
    connections: Rc<Cell<usize>>,
    unproven: RefCell<BTreeMap<u64, AbortHandle>>,
    accepted: Cell<u64>,
    handler: D,
}

impl<D: ConnectionHandler + 'static> Acceptor<D> {
    /// An acceptor of at most this many proven connections, which may move to the fabric.
    pub fn new(
        key: ClusterKey,
        connections_max: usize,
        fabric: Option<Provider>,
        handler: D,
    ) -> Rc<Self> {
        Rc::new(Self {
            key,
            connections_max,
            fabric,
            connections: Rc::default(),
            unproven: RefCell::default(),
            accepted: Cell::new(0),
            handler,
        })
    }

    /// Accepts connections for as long as it is polled. It must run within a `LocalSet`, and may
    /// run for several listeners.
    pub async fn run(self: Rc<Self>, listener: &Listener) {
        loop {
            match listener.accept().await {
                Ok(stream) => self.clone().begin(stream),
                Err(error) => self.make_room(&error).await,
            }
        }
    }

    fn begin(self: Rc<Self>, stream: Stream) {
        let number = self.accepted.replace(self.accepted.get() + 1);
        let this = self.clone();
        let task = spawn_local(async move {
            this.prove(stream).await;
            this.unproven.borrow_mut().remove(&number);
        });
        let mut unproven = self.unproven.borrow_mut();
        unproven.insert(number, task.abort_handle());
        if unproven.len() > UNPROVEN_MAX
            && let Some((_, oldest)) = unproven.pop_first()
        {
            oldest.abort();
        }
    }

    async fn prove(&self, stream: Stream) {
        let mut slot = None;
        let admit = |hello: &Hello| {
            let here = self.handler.admit(hello)?;
            slot = Some(self.slot().ok_or(Refusal::Full)?);
            Ok(here)
        };
        let result = open(stream, &self.key, self.fabric.as_ref(), admit).await;
        match (result, slot) {
            (Ok((channel, hello)), Some(slot)) => self.handler.connected(channel, hello, slot),
            (Err(error), _) => self.handler.rejected(&error),
            (Ok(_), None) => {}
        }
    }

    fn slot(&self) -> Option<ConnectionSlot> {
        let taken = self.connections.get();
        (taken < self.connections_max).then(|| {
            self.connections.set(taken + 1);
            ConnectionSlot(self.connections.clone())
        })
    }

    /// Frees descriptors: connections that have proven nothing are closed first.
    async fn make_room(&self, error: &io::Error) {
        self.handler.rejected(&HandshakeError::Io(io::Error::new(
            error.kind(),
            error.to_string(),
        )));
        let idle = std::mem::take(&mut *self.unproven.borrow_mut());
        idle.into_values().for_each(|task| task.abort());
        tokio::time::sleep(EXHAUSTED_PAUSE).await;
    }
}

/// Verifies the proof of the key, and accepts the shared memory or the fabric that the peer
/// offers, if it does.
async fn open(
    mut stream: Stream,
    key: &ClusterKey,
    fabric: Option<&Provider>,
    admit: impl FnOnce(&Hello) -> Result<Vec<ServerId>, Refusal>,
) -> Result<(Channel, Hello), HandshakeError> {
    let (hello, mut session) = welcome(&mut stream, key, admit).await?;
    let channel = match (hello.continues, stream) {
        (Continuation::Memory, Stream::Unix(socket)) => {
            let accepted = timeout(DEADLINE, MemoryStream::accept(socket)).await;
            accepted.map_err(|_| HandshakeError::Deadline)??.into()
        }
        (Continuation::Memory, Stream::Tcp(_)) => return Err(HandshakeError::Stranger),
        (Continuation::Fabric, stream) => {
            let moved = FabricStream::accept(stream, &mut session, fabric).await?;
            Channel::over_fabric(moved, session, hello.is_secure)
        }
        (Continuation::Socket, stream) => Channel::new(stream, session, hello.is_secure, false)?,
    };
    Ok((channel, hello))
}
