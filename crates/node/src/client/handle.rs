//! What other threads hold of a client.

use super::{Client, NodeContext, Starter, caller, runtime};
use crate::{Clock, Cluster};
use futago_base::FileId;
use futago_trace::Recorder;
use std::{
    fmt,
    future::Future,
    io,
    pin::pin,
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};
use tokio::sync::{mpsc, oneshot};

/// How a client behaves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How requests are sent, sent again and given up. The time to give up comes from the cluster
    /// file.
    pub calls: futago_driver::CallsConfig,
    /// How operations behave.
    pub client: futago_client::Config,
    /// Whether the client takes leases, and keeps attributes and names under them.
    pub leases: bool,
    /// What the program keeps itself of what the client has told it, under the client's leases.
    pub kept: Option<Kept>,
    /// Who records what is done through the client, if anybody does.
    pub recorder: Option<Recorder>,
    /// What the client reads the time from.
    pub clock: Clock,
}

/// What a program keeps itself of files and directories, for as long as
/// [`attributes_trust`](futago_client::Client::attributes_trust) and
/// [`name_trust`](futago_client::Client::name_trust) allow, or until it is told to forget it. What is called forgets
/// what is kept of a node and returns whether that is done; until then it is called again.
#[derive(Clone)]
pub struct Kept(pub Arc<dyn Fn(FileId) -> bool + Send + Sync>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// Work for the client's thread.
pub(super) type Job = Box<dyn FnOnce(Arc<Client>) + Send>;

/// A client of a cluster. Clones are the same client; its session ends with the last one.
///
/// [`Futago::run_blocking`] runs an operation on the calling thread. A thread of the client's own does what
/// is to be done while nobody waits; [`Futago::run`] and [`Futago::spawn`] run operations there, for
/// programs that do not block and for gateways.
#[derive(Clone)]
pub struct Futago {
    client: Arc<Client>,
    jobs: mpsc::UnboundedSender<Job>,
    // Dropped after `jobs`, whose end is what stops the thread.
    _thread: Arc<Thread>,
}

impl fmt::Debug for Futago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Futago").finish_non_exhaustive()
    }
}

/// Waits for the client's thread when the last handle is gone, so that the session has ended.
#[derive(Debug)]
struct Thread(Mutex<Option<JoinHandle<()>>>);

impl Drop for Thread {
    fn drop(&mut self) {
        let thread = self
            .0
            .lock()
            .map(|mut thread| thread.take())
            .unwrap_or_default();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // A panic on it has been reported there.
            let _ = thread.join();
        }
    }
}

/// What an operation ends with if the client's thread is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client has stopped")]
pub struct Stopped;

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> Self {
        Self::new(io::ErrorKind::BrokenPipe, stopped)
    }
}

impl Futago {
    /// Starts a client. Nothing is sent before the first operation.
    ///
    /// # Errors
    /// A cluster map that cannot be made, or a thread that cannot be started.
    pub fn connect(cluster: &Cluster, options: Options) -> io::Result<Self> {
        let setup = Arc::new(runtime::Setup::new(cluster, options)?);
        let (jobs, queue) = mpsc::unbounded_channel();
        let runtime = runtime::new()?;
        let context = NodeContext::new(Arc::clone(&setup), runtime.handle().clone());
        let (map, config) = (setup.map.clone(), setup.options.client);
        let core = futago_client::Client::new(context, map, config);
        let client = Arc::new(Client::new(core, setup.options.recorder.clone()));
        let of_thread = Arc::clone(&client);
        let thread = thread::Builder::new()
            .name("futago-client".into())
            .spawn(move || runtime::run(&runtime, &of_thread, queue))?;
        Ok(Self {
            client,
            jobs,
            _thread: Arc::new(Thread(Mutex::new(Some(thread)))),
        })
    }

    /// Runs an operation on the client's thread, beside others, and does not wait for it. Returns
    /// whether the client still takes work.
    pub fn spawn<F, Fut>(&self, operation: F) -> bool
    where
        F: FnOnce(Arc<Client>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        self.spawn_beside(|client| {
            let mut operation = Box::pin(operation(Arc::clone(&client)));
            async move { client.context().in_turns(operation.as_mut()).await }
        })
    }

    /// Runs something on the client's thread that takes its turns at the client itself
    /// ([`NodeContext::in_turns`]). Returns whether the client still takes work.
    pub fn spawn_beside<F, Fut>(&self, work: F) -> bool
    where
        F: FnOnce(Arc<Client>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let job: Job = Box::new(move |client| {
            tokio::task::spawn_local(work(client));
        });
        self.jobs.send(job).is_ok()
    }

    /// For threads that begin operations and do not wait for them.
    #[must_use]
    pub fn starter(&self) -> Starter {
        Starter::new(Arc::clone(&self.client), self.jobs.downgrade())
    }

    /// Runs an operation, which begins at once. What is returned waits for its result.
    pub fn run<F, Fut, T>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, Stopped>> + use<F, Fut, T>
    where
        F: FnOnce(Arc<Client>) -> Fut + Send + 'static,
        Fut: Future<Output = T> + 'static,
        T: Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.spawn(|client| async move {
            // Nobody is left to hear of it if the caller has gone.
            let _ = done.send(operation(client).await);
        });
        async { result.await.map_err(|_| Stopped) }
    }

    /// Runs an operation on this thread, and waits for it. Not to be called within an operation, which
    /// would wait for itself.
    ///
    /// # Errors
    /// The client's thread has panicked.
    pub fn run_blocking<T>(&self, operation: impl AsyncFnOnce(&Client) -> T) -> Result<T, Stopped> {
        if self.jobs.is_closed() {
            return Err(Stopped);
        }
        let client = &*self.client;
        Ok(caller::run(client.context(), pin!(operation(client))))
    }
}
