//! The handle that threads have of a client.

use super::{
    Invalidations, NodeContext, RecordedClient, Starter, caller, runtime, sharing::Serving,
};
use crate::{Clock, Cluster, CooperativeChoice};
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

/// The behaviour of a client.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How requests are sent, retried and given up. The time limit comes from the cluster file.
    pub calls: futago_driver::CallsConfig,
    /// How operations behave.
    pub client: futago_client::Config,
    /// Whether the client requests leases, and caches attributes and names under them.
    pub leases: bool,
    /// Whether the client shares its cache with others, and takes leases for that.
    pub cooperative: CooperativeChoice,
    /// The queue by which the program invalidates its own caches of data from the client.
    ///
    /// A program may cache files and directories for as long as
    /// [`attributes_trust`](futago_client::Client::attributes_trust) and
    /// [`name_trust`](futago_client::Client::name_trust) allow, or until an invalidation.
    pub invalidations: Option<Invalidations>,
    /// The recorder of operations through the client; `None` records nothing.
    pub recorder: Option<Recorder>,
    /// Whether the client updates the metrics of this process, of which it is the only client.
    pub publishes_metrics: bool,
    /// The source of time.
    pub clock: Clock,
}

/// Work for the client's thread.
pub(super) type Job = Box<dyn FnOnce(Arc<RecordedClient>) + Send>;

/// A client of a cluster. Clones are the same client; its session ends with the last one.
///
/// [`Futago::run_blocking`] runs an operation on the calling thread. The client's own thread does
/// the background work. [`Futago::run`] and [`Futago::spawn`] run operations there, for programs
/// that do not block and for gateways.
#[derive(Clone)]
pub struct Futago {
    client: Arc<RecordedClient>,
    jobs: mpsc::UnboundedSender<Job>,
    /// Answers other clients until it is dropped.
    _serving: Option<Arc<Serving>>,
    // Dropped after `jobs`, because the end of `jobs` stops the thread.
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

/// The error of an operation after the client's thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client has stopped")]
pub struct Stopped;

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> Self {
        Self::new(io::ErrorKind::BrokenPipe, stopped)
    }
}

impl Futago {
    /// Starts a client. It sends nothing before the first operation.
    ///
    /// # Errors
    /// The cluster map is invalid, or a thread cannot be started.
    pub fn connect(cluster: &Cluster, options: Options) -> io::Result<Self> {
        let setup = Arc::new(runtime::Setup::new(cluster, options)?);
        let (jobs, queue) = mpsc::unbounded_channel();
        let runtime = runtime::new()?;
        let context = NodeContext::new(Arc::clone(&setup), runtime.handle().clone());
        let (map, config) = (setup.map.clone(), setup.options.client);
        let core = futago_client::Client::new(context, map, config);
        let client = Arc::new(RecordedClient::new(core, setup.options.recorder.clone()));
        let serving = match setup.cooperative {
            Some(_) => Some(Arc::new(Serving::start(&client)?)),
            None => None,
        };
        let of_thread = Arc::clone(&client);
        let thread = thread::Builder::new()
            .name("futago-client".into())
            .spawn(move || runtime::run(&runtime, &of_thread, queue))?;
        Ok(Self {
            _serving: serving,
            client,
            jobs,
            _thread: Arc::new(Thread(Mutex::new(Some(thread)))),
        })
    }

    /// Runs an operation on the client's thread, concurrently with others, and does not wait for
    /// it. Returns whether the client still accepts work.
    pub fn spawn<F, Fut>(&self, operation: F) -> bool
    where
        F: FnOnce(Arc<RecordedClient>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        self.spawn_beside(|client| {
            let mut operation = Box::pin(operation(Arc::clone(&client)));
            async move { client.context().poll_with_lock(operation.as_mut()).await }
        })
    }

    /// Runs a future on the client's thread that takes the lock itself
    /// ([`NodeContext::poll_with_lock`]). Returns whether the client still accepts work.
    pub fn spawn_beside<F, Fut>(&self, work: F) -> bool
    where
        F: FnOnce(Arc<RecordedClient>) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let job: Job = Box::new(move |client| {
            tokio::task::spawn_local(work(client));
        });
        self.jobs.send(job).is_ok()
    }

    /// A starter for threads that begin operations and do not wait for them.
    #[must_use]
    pub fn starter(&self) -> Starter {
        Starter::new(Arc::clone(&self.client), self.jobs.downgrade())
    }

    /// Runs an operation, which begins at once. The returned future waits for its result.
    pub fn run<F, Fut, T>(
        &self,
        operation: F,
    ) -> impl Future<Output = Result<T, Stopped>> + use<F, Fut, T>
    where
        F: FnOnce(Arc<RecordedClient>) -> Fut + Send + 'static,
        Fut: Future<Output = T> + 'static,
        T: Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.spawn(|client| async move {
            // The caller may have dropped the future.
            let _ = done.send(operation(client).await);
        });
        async { result.await.map_err(|_| Stopped) }
    }

    /// Runs an operation on this thread, and waits for it. It must not be called within an
    /// operation, because it would deadlock.
    ///
    /// # Errors
    /// The client's thread has panicked.
    pub fn run_blocking<T>(
        &self,
        operation: impl AsyncFnOnce(&RecordedClient) -> T,
    ) -> Result<T, Stopped> {
        if self.jobs.is_closed() {
            return Err(Stopped);
        }
        let client = &*self.client;
        Ok(caller::run(client.context(), pin!(operation(client))))
    }
}
