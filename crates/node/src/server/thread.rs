//! A thread that hosts servers, which share its connections. Each message goes to the server that
//! it addresses.

use super::connections::{Arrival, ConnectionId, Connections, Door, Origin};
use super::peers::Siblings;
use super::process::std_duration;
use super::shard::{Opened, Setup, Shard};
use crate::time_slices;
use futago_base::{Duration, ServerId};
use futago_store::{StoreError, Synchronization};
use futago_transport::{Acceptor, Address, Listener, Party, busy, poll_streams};
use futago_wire::Frame;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    io,
    panic::resume_unwind,
    rc::Rc,
    sync::mpsc,
};
use tokio::{
    runtime::Builder,
    sync::{mpsc as channel, watch},
    task::{JoinHandle, LocalSet, spawn_blocking, spawn_local},
    time::{MissedTickBehavior, interval},
};

/// The most arrivals that may wait for the servers; beyond it, connections are not read. An arrival
/// brings all messages that a connection had received.
const ARRIVALS_MAX: usize = 1024;
/// The most arrivals that are handled before the replies are sent.
const BATCH_MAX: usize = 256;

/// A change of the servers of a thread.
pub enum Command {
    /// Serves one more, whose store is open.
    Adopt {
        server: Box<(Setup, Opened)>,
        /// Gets whether it listens.
        done: mpsc::Sender<io::Result<()>>,
    },
    /// Serves one less. Its store is closed when `done` hears of it.
    Release {
        server: ServerId,
        done: mpsc::Sender<()>,
    },
}

/// Runs servers on this thread until they are stopped, or one of them fails.
pub fn run(
    tick: Duration,
    commands: channel::UnboundedReceiver<Command>,
    stopped: &watch::Receiver<bool>,
) {
    time_slices::shorten();
    // The thread is idle while it is parked; polling reports the other transitions.
    let runtime = Builder::new_current_thread()
        .enable_all()
        .on_thread_park(|| busy::end(busy::now()))
        .on_thread_unpark(|| busy::begin(busy::now()))
        .build();
    let outcome = runtime.and_then(|runtime| {
        LocalSet::new().block_on(&runtime, async {
            spawn_local(poll_streams(|look| look()));
            // As a task of the thread it handles messages right after they are read, and before the
            // thread polls for more.
            let serving = spawn_local(serve(tick, commands, stopped.clone()));
            let ended = serving.await;
            ended.unwrap_or_else(|failed| match failed.try_into_panic() {
                Ok(panicked) => resume_unwind(panicked),
                Err(cancelled) => Err(io::Error::other(cancelled)),
            })
        })
    });
    if let Err(error) = outcome {
        tracing::error!(%error, "the server ends");
    }
}

async fn serve(
    tick: Duration,
    mut commands: channel::UnboundedReceiver<Command>,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let (arrived, mut arrivals) = channel::channel(ARRIVALS_MAX);
    let (synchronized, mut synchronizations) = channel::unbounded_channel();
    let mut shards = Shards::new(arrived, synchronized);
    let mut ticks = interval(std_duration(tick));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(arrival) = arrivals.recv() => {
                shards.take(arrival);
                for _ in 1..BATCH_MAX {
                    let Ok(arrival) = arrivals.try_recv() else { break };
                    shards.take(arrival);
                }
            }
            Some((server, done)) = synchronizations.recv() => shards.end_synchronization(server, done)?,
            Some(command) = commands.recv() => shards.obey(command).await,
            _ = ticks.tick() => shards.shards.values_mut().for_each(Shard::tick),
            _ = stopped.changed() => break,
        }
        shards.flush()?;
    }
    shards.close_all().await;
    tracing::info!("stopped");
    Ok(())
}

/// The servers of a thread.
struct Shards {
    shards: BTreeMap<ServerId, Shard>,
    /// The tasks that accept connections of each.
    doors: BTreeMap<ServerId, Vec<JoinHandle<()>>>,
    /// The servers that have left.
    released: BTreeSet<ServerId>,
    siblings: Rc<Siblings>,
    connections: Rc<RefCell<Connections>>,
    arrived: channel::Sender<Arrival>,
    synchronized: channel::UnboundedSender<Synchronized>,
    next: Rc<Cell<ConnectionId>>,
}

/// The result of synchronizing a server's store.
type Synchronized = (ServerId, Result<Synchronization, StoreError>);

impl Shards {
    fn new(
        arrived: channel::Sender<Arrival>,
        synchronized: channel::UnboundedSender<Synchronized>,
    ) -> Self {
        Self {
            shards: BTreeMap::new(),
            doors: BTreeMap::new(),
            released: BTreeSet::new(),
            siblings: Rc::default(),
            connections: Rc::default(),
            arrived,
            synchronized,
            next: Rc::default(),
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Adopt { server, done } => {
                let (setup, opened) = *server;
                // The receiver may have given up.
                let _ = done.send(self.adopt(setup, opened).await);
            }
            Command::Release { server, done } => {
                self.release_server(server).await;
                let _ = done.send(());
            }
        }
    }

    /// Makes a server listen and serves it.
    async fn adopt(&mut self, setup: Setup, opened: Opened) -> io::Result<()> {
        let id = setup.id;
        let doors = listen(&setup, self.door(&setup)).await?;
        let (siblings, connections) = (Rc::clone(&self.siblings), Rc::clone(&self.connections));
        let shard = match Shard::new(setup, opened, siblings, connections) {
            Ok(shard) => shard,
            Err(error) => {
                close(doors).await;
                return Err(error);
            }
        };
        self.doors.insert(id, doors);
        self.shards.insert(id, shard);
        self.siblings.add(id);
        self.released.remove(&id);
        Ok(())
    }

    fn door(&self, setup: &Setup) -> Door {
        Door {
            id: setup.id,
            siblings: Rc::clone(&self.siblings),
            is_secure: setup.cluster.secure,
            budget: setup.budget.clone(),
            arrived: self.arrived.clone(),
            next: Rc::clone(&self.next),
        }
    }

    /// Ends a server. All that it has decided is in its log, because commands come between batches.
    async fn release_server(&mut self, id: ServerId) {
        let Some(doors) = self.doors.remove(&id) else {
            return;
        };
        // The next process listens when it has the store, so the address must be free before.
        close(doors).await;
        self.siblings.remove(id);
        self.released.insert(id);
        self.connections.borrow_mut().end_those_of(id);
        if let Some(shard) = self.shards.remove(&id) {
            close_store(id, shard);
        }
        tracing::info!(server = id.0, "released");
    }

    async fn close_all(&mut self) {
        for doors in std::mem::take(&mut self.doors).into_values() {
            close(doors).await;
        }
        for (id, shard) in std::mem::take(&mut self.shards) {
            close_store(id, shard);
        }
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Opened(id, connection) => {
                self.connections.borrow_mut().insert(id, connection);
                self.shards.values_mut().for_each(|shard| shard.greet(id));
            }
            Arrival::Closed(id) => {
                self.connections.borrow_mut().remove(id);
                for shard in self.shards.values_mut() {
                    shard.forget_sessions_of(id);
                }
            }
            Arrival::TurnedAway(server) => self.turned_away(server),
            Arrival::Messages(id, frames) => self.receive(id, frames),
        }
    }

    /// Passes each message to the server that it addresses, up to a forbidden one.
    fn receive(&mut self, id: ConnectionId, frames: Vec<Frame>) {
        let ends = self.connections.borrow().ends(id);
        let Some((door, from)) = ends else { return };
        for frame in frames {
            let server = frame.header.server;
            if self.released.contains(&server) {
                return self.connections.borrow_mut().end(id);
            }
            let shard = self.shards.get_mut(&server);
            if !shard.is_some_and(|shard| shard.receive(from, frame)) {
                self.connections.borrow_mut().cut_off(id);
                return self.turned_away(door);
            }
        }
    }

    /// Releases the messages of the servers, and passes those between servers of the thread on,
    /// until there are no more.
    fn release(&mut self) -> Result<(), StoreError> {
        self.shards.values_mut().try_for_each(Shard::release)?;
        while let Some((from, frame)) = self.siblings.next_message() {
            if let Some(shard) = self.shards.get_mut(&frame.header.server) {
                shard.receive(Origin::Server(from), frame);
                shard.release()?;
            }
        }
        Ok(())
    }

    /// Has other threads synchronize the stores of which something waits for it.
    fn synchronize(&mut self) -> Result<(), StoreError> {
        for (&id, shard) in &mut self.shards {
            if let Some(synchronization) = shard.begin_synchronization()? {
                let synchronized = self.synchronized.clone();
                spawn_blocking(move || {
                    let outcome = synchronization.run().map(|()| synchronization);
                    // The thread of the server may have ended.
                    let _ = synchronized.send((id, outcome));
                });
            }
        }
        Ok(())
    }

    fn end_synchronization(
        &mut self,
        server: ServerId,
        outcome: Result<Synchronization, StoreError>,
    ) -> io::Result<()> {
        let done = outcome.map_err(io::Error::other)?;
        if let Some(shard) = self.shards.get_mut(&server) {
            shard.end_synchronization(&done);
        }
        Ok(())
    }

    fn turned_away(&mut self, server: ServerId) {
        if let Some(shard) = self.shards.get_mut(&server) {
            shard.turned_away();
        }
    }

    /// Sends the messages that resulted since the last call, those of each connection at once.
    fn flush(&mut self) -> io::Result<()> {
        self.release().map_err(io::Error::other)?;
        self.synchronize().map_err(io::Error::other)?;
        self.connections.borrow_mut().flush();
        self.shards.values_mut().for_each(Shard::flush);
        Ok(())
    }
}

/// Makes a server listen at its address and, for processes of this host, beside it. Returns the
/// tasks that accept connections.
async fn listen(setup: &Setup, door: Door) -> io::Result<Vec<JoinHandle<()>>> {
    let address = address(setup)?;
    let listener = Listener::bind(&address)
        .await
        .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
    let (key, most) = (setup.cluster.key.clone(), setup.cluster.limits.connections);
    let acceptor = Acceptor::new(key, most, setup.cluster.fabric.clone(), door);
    let mut doors = vec![spawn_accepting(&acceptor, listener)];
    match Listener::bind_nearby(&address, setup.cluster.id.0, Party::Server(setup.id)) {
        Ok(Some(nearby)) => doors.push(spawn_accepting(&acceptor, nearby)),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "processes of this host connect over TCP"),
    }
    tracing::info!(server = setup.id.0, %address, "serving");
    Ok(doors)
}

/// Ends the store of a server.
fn close_store(server: ServerId, shard: Shard) {
    if let Err(error) = shard.close() {
        tracing::error!(server = server.0, %error, "a loss of power may undo the latest changes");
    }
}

/// Stops listening.
async fn close(doors: Vec<JoinHandle<()>>) {
    for door in doors {
        door.abort();
        // It ends by being cancelled.
        let _ = door.await;
    }
}

fn address(setup: &Setup) -> io::Result<Address> {
    let entry = setup.cluster.server(setup.id);
    let missing = || io::Error::other(format!("{} is not in the cluster file", setup.id));
    Ok(entry.ok_or_else(missing)?.address.clone())
}

fn spawn_accepting(acceptor: &Rc<Acceptor<Door>>, listener: Listener) -> JoinHandle<()> {
    let acceptor = Rc::clone(acceptor);
    spawn_local(async move { acceptor.run(&listener).await })
}
