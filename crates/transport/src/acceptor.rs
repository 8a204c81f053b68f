//! The door: who connects proves the key in good time, and strangers do not keep others out.

use crate::{
    Channel, ClusterKey, Hello, Listener, Stream,
    handshake::{DEADLINE, HandshakeError, Refusal, welcome},
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

/// How many connections may be about to prove the key. One more costs the oldest its place: an
/// honest peer needs milliseconds, so the oldest is an idle one.
const UNPROVEN_MAX: usize = 1024;
/// The pause after the system had no more descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// Decides about those who have proven the key.
pub trait Doorkeeper {
    /// Whether to let a peer in, and which servers its messages may be for, at most
    /// [`SERVERS_MAX`](crate::handshake::SERVERS_MAX).
    fn admit(&self, hello: &Hello) -> Result<Vec<ServerId>, Refusal>;
    /// A peer that is in.
    fn enter(&self, channel: Channel, hello: Hello, place: Place);
    /// A peer that is not.
    fn turned_away(&self, error: &HandshakeError);
}

/// A counted place for one connection; it is free again when this is dropped.
#[derive(Debug)]
pub struct Place(Rc<Cell<usize>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Accepts connections.
pub struct Acceptor<D> {
    key: ClusterKey,
    connections_max: usize,
    connections: Rc<Cell<usize>>,
    unproven: RefCell<BTreeMap<u64, AbortHandle>>,
    accepted: Cell<u64>,
    doorkeeper: D,
}

impl<D: Doorkeeper + 'static> Acceptor<D> {
    /// A door for at most so many proven connections.
    pub fn new(key: ClusterKey, connections_max: usize, doorkeeper: D) -> Rc<Self> {
        Rc::new(Self {
            key,
            connections_max,
            connections: Rc::default(),
            unproven: RefCell::default(),
            accepted: Cell::new(0),
            doorkeeper,
        })
    }

    /// Accepts for as long as it is polled. Must run within a `LocalSet`; may run for several
    /// listeners.
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
        let mut place = None;
        let admit = |hello: &Hello| {
            let here = self.doorkeeper.admit(hello)?;
            place = Some(self.place().ok_or(Refusal::Full)?);
            Ok(here)
        };
        let result = open(stream, &self.key, admit).await;
        match (result, place) {
            (Ok((channel, hello)), Some(place)) => self.doorkeeper.enter(channel, hello, place),
            (Err(error), _) => self.doorkeeper.turned_away(&error),
            (Ok(_), None) => {}
        }
    }

    fn place(&self) -> Option<Place> {
        let taken = self.connections.get();
        (taken < self.connections_max).then(|| {
            self.connections.set(taken + 1);
            Place(self.connections.clone())
        })
    }

    /// The system has no descriptors left: those who have proven nothing go first.
    async fn make_room(&self, error: &io::Error) {
        self.doorkeeper
            .turned_away(&HandshakeError::Io(io::Error::new(
                error.kind(),
                error.to_string(),
            )));
        let idle = std::mem::take(&mut *self.unproven.borrow_mut());
        idle.into_values().for_each(|task| task.abort());
        tokio::time::sleep(EXHAUSTED_PAUSE).await;
    }
}

/// Has the key proven, and takes over the memory that the peer hands over, if it does.
async fn open(
    mut stream: Stream,
    key: &ClusterKey,
    admit: impl FnOnce(&Hello) -> Result<Vec<ServerId>, Refusal>,
) -> Result<(Channel, Hello), HandshakeError> {
    let (hello, session) = welcome(&mut stream, key, admit).await?;
    let channel = match stream {
        Stream::Unix(socket) if hello.hands_over_memory => {
            let accepted = timeout(DEADLINE, MemoryStream::accept(socket)).await;
            accepted.map_err(|_| HandshakeError::Deadline)??.into()
        }
        Stream::Tcp(_) if hello.hands_over_memory => return Err(HandshakeError::Stranger),
        stream => Channel::new(stream, session, hello.is_secure),
    };
    Ok((channel, hello))
}
