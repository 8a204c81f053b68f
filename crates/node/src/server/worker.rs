//! A server thread as its process knows it.

use super::adoption::Adoption;
use super::shard::Setup;
use super::thread::{self as server_thread, Command};
use futago_base::{Duration, ServerId};
use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};
use tokio::sync::{Notify, mpsc as channel, watch};

/// The parts that all threads share.
pub struct Common {
    pub tick: Duration,
    pub stop: watch::Sender<bool>,
    /// Notified when a thread has ended.
    pub ending: Arc<Notify>,
}

impl Common {
    /// For threads that look at the clock so often.
    pub fn new(tick: Duration) -> Self {
        Self {
            tick,
            stop: watch::channel(false).0,
            ending: Arc::new(Notify::new()),
        }
    }
}

/// A thread.
pub struct Worker {
    /// Its servers, those that are being opened included.
    pub servers: BTreeSet<ServerId>,
    commands: channel::UnboundedSender<Command>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts a thread without servers.
    pub fn start(name: &str, common: &Common) -> io::Result<Self> {
        let (commands, received) = channel::unbounded_channel();
        let (tick, stopped) = (common.tick, common.stop.subscribe());
        let ending = Ending(Arc::clone(&common.ending));
        let run = move || {
            let _ending = ending;
            server_thread::run(tick, received, &stopped);
        };
        Ok(Self {
            servers: BTreeSet::new(),
            commands,
            thread: thread::Builder::new().name(name.into()).spawn(run)?,
        })
    }

    /// Begins to open a server for the thread.
    pub fn adopt(&mut self, setup: Setup) -> io::Result<Adoption> {
        let server = setup.id;
        let adoption = Adoption::begin(setup, self.commands.clone())?;
        self.servers.insert(server);
        Ok(adoption)
    }

    /// Has the thread end a server, and waits for it.
    pub fn release(&mut self, server: ServerId) {
        self.servers.remove(&server);
        let (done, released) = mpsc::channel();
        if self
            .commands
            .send(Command::Release { server, done })
            .is_ok()
        {
            // A thread that has ended has closed its stores, too.
            let _ = released.recv();
        }
    }

    /// Waits for the end of the thread.
    ///
    /// # Errors
    /// It has panicked.
    pub fn join(self) -> io::Result<()> {
        let panicked = |_| io::Error::other("a server thread has panicked");
        self.thread.join().map_err(panicked)
    }
}

/// Reports the end of a thread, even after a panic.
struct Ending(Arc<Notify>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
