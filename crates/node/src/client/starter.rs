//! Begins operations on any thread, and continues them on the client's thread.

use super::{RecordedClient, handle::Job};
use std::{
    fmt,
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Waker},
};
use tokio::{sync::mpsc, task::spawn_local};

/// A starter for threads that begin operations and do not wait for them. It does not keep the
/// client alive.
#[derive(Clone)]
pub struct Starter {
    client: Arc<RecordedClient>,
    jobs: mpsc::WeakUnboundedSender<Job>,
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

impl fmt::Debug for Starter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Starter").finish_non_exhaustive()
    }
}

/// Writes back all files before the client ends, and logs what is lost.
pub(super) async fn stop_buffering(client: &RecordedClient) {
    for (file, error) in client.core().stop_buffering().await {
        tracing::error!(%file, %error, "writes are lost that the client had buffered");
    }
}

impl Starter {
    pub(super) const fn new(
        client: Arc<RecordedClient>,
        jobs: mpsc::WeakUnboundedSender<Job>,
    ) -> Self {
        Self { client, jobs }
    }

    /// The client.
    #[must_use]
    pub const fn client(&self) -> &Arc<RecordedClient> {
        &self.client
    }

    /// Begins a future that takes the lock itself
    /// ([`NodeContext::poll_with_lock`](super::NodeContext::poll_with_lock)). It runs on this
    /// thread until it has to wait, and on the client's thread afterwards. Returns whether it has
    /// to wait. The calling thread must not hold the lock. A client that has stopped drops the
    /// future.
    pub fn begin(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        if self.jobs.strong_count() == 0 {
            return false;
        }
        let mut work = Box::pin(work);
        let mut task = Context::from_waker(Waker::noop());
        let has_to_wait = work.as_mut().poll(&mut task).is_pending();
        if has_to_wait {
            self.go_on(work);
        }
        has_to_wait
    }

    /// Has the client write back what it buffers, and send later writes at once. Waits for that on
    /// this thread, and logs losses.
    pub fn stop_buffering(&self) {
        let client = Arc::clone(&self.client);
        let (done, is_done) = std::sync::mpsc::channel();
        self.spawn(async move {
            client
                .context()
                .poll_with_lock(pin!(stop_buffering(&client)))
                .await;
            let _ = done.send(());
        });
        // A client that has stopped has nothing to write back.
        let _ = is_done.recv();
    }

    /// Runs a future on the client's thread that takes the lock itself. A client that has stopped
    /// drops it.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.go_on(Box::pin(work));
    }

    fn go_on(&self, work: Work) {
        if self.client.context().is_own_thread() {
            spawn_local(work);
        } else if let Some(jobs) = self.jobs.upgrade() {
            let job: Job = Box::new(|_| {
                spawn_local(work);
            });
            // A dropped job notifies the operation that waits for it.
            let _ = jobs.send(job);
        }
    }
}
