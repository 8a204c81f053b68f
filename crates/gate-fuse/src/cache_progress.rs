//! Progress of invalidations in the kernel, which wakes those that wait for it.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::timeout;

/// Wakes the waiting invalidations of a mount.
#[derive(Clone, Debug, Default)]
pub struct CacheProgress(Arc<Notify>);

/// A wait for progress from a certain time on.
pub struct Awaited<'a>(Notified<'a>);

impl CacheProgress {
    /// Names are expired, pages are dropped, nodes are forgotten, or a directory is locked.
    pub fn made(&self) {
        self.0.notify_waiters();
    }

    /// Begins to wait for progress. Progress from now on counts.
    pub fn begin_wait(&self) -> Awaited<'_> {
        Awaited(self.0.notified())
    }
}

impl Awaited<'_> {
    /// Waits until there is progress, and no longer than so long.
    pub async fn at_most(self, limit: Duration) {
        timeout(limit, self.0).await.ok();
    }
}
