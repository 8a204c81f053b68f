//! The door: who connects proves the key in good time, and strangers do not keep others out.

use crate::{
    ClusterKey, Hello, Listener, Stream,
    handshake::{HandshakeError, Refusal, welcome},
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io,
    rc::Rc,
    time::Duration,
};
use tokio::task::{AbortHandle, spawn_local};

/// How many connections may be about to prove the key. One more costs the oldest its place: an
/// honest peer needs milliseconds, so the oldest is an idle one.
const UNPROVEN_MAX: usize = 1024;
/// The pause after the system had no more descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// Decides about those who have proven the key.
pub trait Doorkeeper {
    /// Whether to let a peer in.
    fn admit(&self, hello: &Hello) -> Result<(), Refusal>;
    /// A peer that is in.
    fn enter(&self, stream: Stream, hello: Hello, place: Place);
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
            doorkeeper,
        })
    }

    /// Accepts for as long as it is polled. Must run within a `LocalSet`.
    pub async fn run(self: Rc<Self>, listener: &Listener) {
        for number in 0.. {
            match listener.accept().await {
                Ok(stream) => self.clone().begin(number, stream),
                Err(error) => self.make_room(&error).await,
            }
        }
    }

    fn begin(self: Rc<Self>, number: u64, stream: Stream) {
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

    async fn prove(&self, mut stream: Stream) {
        let mut place = None;
        let proof = welcome(&mut stream, &self.key, |hello| {
            self.doorkeeper.admit(hello)?;
            place = Some(self.place().ok_or(Refusal::Full)?);
            Ok(())
        });
        let result = proof.await;
        match (result, place) {
            (Ok(hello), Some(place)) => self.doorkeeper.enter(stream, hello, place),
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
