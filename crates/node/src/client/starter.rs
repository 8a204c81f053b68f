//! Beginning operations on any thread, and going on with them on the client's.

use super::{Client, handle::Job};
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Waker},
};
use tokio::{sync::mpsc, task::spawn_local};

/// For threads that begin operations and do not wait for them. It does not keep the client alive.
#[derive(Clone)]
pub struct Starter {
    client: Arc<Client>,
    jobs: mpsc::WeakUnboundedSender<Job>,
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

impl fmt::Debug for Starter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Starter").finish_non_exhaustive()
    }
}

impl Starter {
    pub(super) const fn new(client: Arc<Client>, jobs: mpsc::WeakUnboundedSender<Job>) -> Self {
        Self { client, jobs }
    }

    /// The client.
    #[must_use]
    pub const fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Begins something that takes its turns at the client itself
    /// ([`NodeContext::in_turns`](super::NodeContext::in_turns)): what can be done without waiting is done on this thread before this returns, the
    /// rest on the client's thread. Returns whether there is a rest. The calling thread must not have a turn. A client that has
    /// stopped drops it.
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

    /// Does something on the client's thread that takes its turns at the client itself. A client that has stopped drops it.
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
            // Dropped, it tells whoever waits for it.
            let _ = jobs.send(job);
        }
    }
}
