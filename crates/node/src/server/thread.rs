//! A thread that hosts servers, which share its connections. Each message goes to the server that
//! it addresses.

use super::connections::{Arrival, ConnectionId, Connections, Door, Origin};
use super::peers::Siblings;
use super::process::std_duration;
use super::shard::{Setup, Shard};
use crate::time_slices;
use futago_base::ServerId;
use futago_store::StoreError;
use futago_transport::{Acceptor, Address, Listener, busy, poll_streams};
use futago_wire::Frame;
use std::{cell::RefCell, collections::BTreeMap, io, panic::resume_unwind, rc::Rc, sync::mpsc};
use tokio::{
    runtime::Builder,
    sync::{mpsc as channel, watch},
    task::{LocalSet, spawn_local},
    time::{MissedTickBehavior, interval},
};

/// The most arrivals that may wait for the servers; beyond it, connections are not read. An arrival
/// brings all messages that a connection had received.
const ARRIVALS_MAX: usize = 1024;
/// The most arrivals that are handled before the replies are sent.
const BATCH_MAX: usize = 256;

/// Runs servers on this thread until they are stopped, or one of them fails. Reports once for each
/// server that listens.
pub fn run(
    setups: Vec<Setup>,
    report: &mpsc::Sender<io::Result<()>>,
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
            let serving = spawn_local(serve(setups, report.clone(), stopped.clone()));
            let ended = serving.await;
            ended.unwrap_or_else(|failed| match failed.try_into_panic() {
                Ok(panicked) => resume_unwind(panicked),
                Err(cancelled) => Err(io::Error::other(cancelled)),
            })
        })
    });
    if let Err(error) = outcome {
        tracing::error!(%error, "the server ends");
        // The receiver of a second report is gone.
        let _ = report.send(Err(error));
    }
}

async fn serve(
    setups: Vec<Setup>,
    report: mpsc::Sender<io::Result<()>>,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let Some(tick) = setups.first().map(|setup| setup.core.tick) else {
        return Ok(());
    };
    let (arrived, mut arrivals) = channel::channel(ARRIVALS_MAX);
    let mut shards = Shards::open(setups, &arrived).await?;
    let mut ticks = interval(std_duration(tick));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for _ in &shards.shards {
        report.send(Ok(())).map_err(io::Error::other)?;
    }
    loop {
        tokio::select! {
            Some(arrival) = arrivals.recv() => {
                shards.take(arrival);
                for _ in 1..BATCH_MAX {
                    let Ok(arrival) = arrivals.try_recv() else { break };
                    shards.take(arrival);
                }
            }
            _ = ticks.tick() => shards.shards.values_mut().for_each(Shard::tick),
            _ = stopped.changed() => break,
        }
        shards.flush()?;
    }
    tracing::info!("stopped");
    Ok(())
}

/// The servers of a thread.
struct Shards {
    shards: BTreeMap<ServerId, Shard>,
    siblings: Rc<Siblings>,
    connections: Rc<RefCell<Connections>>,
}

impl Shards {
    /// Creates the servers, and makes each of them listen.
    async fn open(setups: Vec<Setup>, arrived: &channel::Sender<Arrival>) -> io::Result<Self> {
        let servers = setups.iter().map(|setup| setup.id).collect();
        let siblings = Rc::new(Siblings::new(servers));
        let connections = Rc::default();
        let next = Rc::default();
        let mut shards = BTreeMap::new();
        for setup in setups {
            let door = Door {
                id: setup.id,
                siblings: Rc::clone(&siblings),
                map_epoch: setup.cluster.epoch,
                is_secure: setup.cluster.secure,
                budget: setup.budget.clone(),
                arrived: arrived.clone(),
                next: Rc::clone(&next),
            };
            listen(&setup, door).await?;
            let id = setup.id;
            let shard = Shard::new(setup, Rc::clone(&siblings), Rc::clone(&connections))?;
            shards.insert(id, shard);
        }
        Ok(Self {
            shards,
            siblings,
            connections,
        })
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
            let shard = self.shards.get_mut(&frame.header.server);
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

    fn turned_away(&mut self, server: ServerId) {
        if let Some(shard) = self.shards.get_mut(&server) {
            shard.turned_away();
        }
    }

    /// Sends the messages that resulted since the last call, those of each connection at once.
    fn flush(&mut self) -> io::Result<()> {
        self.release().map_err(io::Error::other)?;
        self.connections.borrow_mut().flush();
        self.shards.values_mut().for_each(Shard::flush);
        Ok(())
    }
}

/// Makes a server listen at its address and, for processes of this host, beside it.
async fn listen(setup: &Setup, door: Door) -> io::Result<()> {
    let address = address(setup)?;
    let listener = Listener::bind(&address)
        .await
        .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
    let (key, most) = (setup.cluster.key.clone(), setup.cluster.limits.connections);
    let acceptor = Acceptor::new(key, most, door);
    match Listener::bind_nearby(&address, setup.cluster.id.0, setup.id) {
        Ok(Some(nearby)) => spawn_accepting(&acceptor, nearby),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "processes of this host connect over TCP"),
    }
    spawn_accepting(&acceptor, listener);
    tracing::info!(server = setup.id.0, %address, "serving");
    Ok(())
}

fn address(setup: &Setup) -> io::Result<Address> {
    let entry = setup.cluster.server(setup.id);
    let missing = || io::Error::other(format!("{} is not in the cluster file", setup.id));
    Ok(entry.ok_or_else(missing)?.address.clone())
}

fn spawn_accepting(acceptor: &Rc<Acceptor<Door>>, listener: Listener) {
    let acceptor = Rc::clone(acceptor);
    spawn_local(async move { acceptor.run(&listener).await });
}
