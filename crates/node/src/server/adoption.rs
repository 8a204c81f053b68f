//! Opens a server beside the threads that serve others: reading a log takes time, and another
//! process may have to release it first.

use super::process::std_duration;
use super::shard::{Opened, Setup};
use super::thread::Command;
use futago_base::{Incarnation, ServerId};
use futago_store::StoreError;
use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::mpsc as channel;

/// How long a server waits for its directory while another process uses it.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How often it tries meanwhile.
const PAUSE: Duration = Duration::from_millis(2);

/// The servers that a process is about to serve.
#[derive(Clone, Debug, Default)]
pub struct Openings(Arc<Mutex<BTreeSet<ServerId>>>);

impl Openings {
    /// Their numbers.
    pub fn servers(&self) -> Vec<u16> {
        self.locked().iter().map(|server| server.0).collect()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeSet<ServerId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server that is being opened.
pub struct Adoption {
    pub server: ServerId,
    is_cancelled: Arc<Mutex<bool>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Adoption {
    /// Opens a server's store and passes it to a thread.
    pub fn begin(setup: Setup, to: channel::UnboundedSender<Command>) -> io::Result<Self> {
        let (server, is_cancelled) = (setup.id, Arc::default());
        let opening = Opening {
            setup,
            to,
            is_cancelled: Arc::clone(&is_cancelled),
        };
        opening.setup.opening.locked().insert(server);
        let name = format!("opening-{}", server.0);
        let thread = thread::Builder::new().name(name);
        Ok(Self {
            server,
            is_cancelled,
            thread: thread.spawn(move || opening.run_noted())?,
        })
    }

    /// The thread does not get the server any more, unless it has it already.
    pub fn cancel(&self) {
        *locked(&self.is_cancelled) = true;
    }

    /// Whether [`Adoption::finish`] returns at once.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until the server listens.
    ///
    /// # Errors
    /// It cannot be opened, or cannot listen.
    pub fn finish(self) -> io::Result<()> {
        let panicked = |_| io::Error::other("opening a server has panicked");
        self.thread.join().map_err(panicked)?
    }
}

struct Opening {
    setup: Setup,
    to: channel::UnboundedSender<Command>,
    is_cancelled: Arc<Mutex<bool>>,
}

impl Opening {
    /// Opens the server. The status of the process shows that meanwhile, and its log a failure.
    fn run_noted(self) -> io::Result<()> {
        let (server, openings) = (self.setup.id, self.setup.opening.clone());
        let outcome = self.run();
        openings.locked().remove(&server);
        if let Err(error) = &outcome {
            tracing::error!(server = server.0, %error, "not served");
        }
        outcome
    }

    fn run(self) -> io::Result<()> {
        self.ensure_log()?;
        let drawn = Incarnation(getrandom::u64().map_err(io::Error::other)?);
        let opened = self.open(drawn).map_err(io::Error::other)?;
        if opened.may_have_lost() {
            self.outwait_clients();
        }
        let (done, listens) = mpsc::channel();
        let ended = || io::Error::other("the server thread has ended");
        {
            // A later release must reach the thread after this.
            let is_cancelled = locked(&self.is_cancelled);
            if *is_cancelled {
                return Err(io::Error::other("the server has moved on"));
            }
            let server = Box::new((self.setup, opened));
            let sent = self.to.send(Command::Adopt { server, done });
            sent.map_err(|_| ended())?;
        }
        listens.recv().map_err(|_| ended())?
    }

    /// Clients may rely on locks and leases that a loss of power has undone. They stop when they
    /// have not heard of the server for a lease.
    fn outwait_clients(&self) {
        let (server, lease) = (self.setup.id.0, std_duration(self.setup.surroundings.grace));
        tracing::warn!(
            server,
            "a loss of power may have undone the latest changes; serving begins after {lease:?}"
        );
        let deadline = Instant::now() + lease;
        while self.may_wait(deadline) {
            thread::sleep(PAUSE);
        }
    }

    /// A server that comes from another process must not begin anew because this host does not see
    /// its log.
    fn ensure_log(&self) -> io::Result<()> {
        match self.setup.directory() {
            Some(directory) if self.setup.has_moved && !directory.is_dir() => {
                let missing = format!("this host does not see {}", directory.display());
                Err(io::Error::new(io::ErrorKind::NotFound, missing))
            }
            _ => Ok(()),
        }
    }

    /// Opens the store, once no other process uses it.
    fn open(&self, drawn: Incarnation) -> Result<Opened, StoreError> {
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            match self.setup.open(drawn) {
                Err(StoreError::InUse(_)) if self.may_wait(deadline) => thread::sleep(PAUSE),
                opened => return opened,
            }
        }
    }

    fn may_wait(&self, deadline: Instant) -> bool {
        Instant::now() < deadline && !*locked(&self.is_cancelled)
    }
}

fn locked(flag: &Mutex<bool>) -> MutexGuard<'_, bool> {
    flag.lock().unwrap_or_else(PoisonError::into_inner)
}
