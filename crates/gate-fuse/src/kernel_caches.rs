//! The kernel's caches under the client's leases, and their invalidation.
//!
//! Replies tell the kernel how long it may use attributes and names without a request. A recalled
//! lease ends that at once, by notifications: the client queues an event, and returns the lease
//! when the event ends, once the kernel holds nothing of the node any more. Each step of an
//! invalidation that ends elsewhere counts as [progress](crate::cache_progress), which has it go
//! on.
//!
//! For some notifications the kernel needs no lock, because operations on the same files may be
//! under way; for others a thread waits, and not for long ([`kernel_names`](crate::kernel_names)).
//! If the kernel does not know a node of a reply, it is about to process that reply: the
//! notification is repeated until the kernel knows the node, or has forgotten it. The kernel does
//! not cache replies to requests from before the notification; where it would, the reply is given
//! before another client can have a lease recalled ([`gateway`](crate::gateway)).

use crate::cached_pages::{DROP_MAX, Recalled};
use crate::call::Shared;
use crate::interruption::locked;
use crate::taking_in::TAKE_IN_POLL;
use futago_base::{FileId, ServerId};
use futago_fuse_kernel::{Connection, InitFlags, Notifier};
use futago_node::{Futago, Invalidation, Invalidations, Options};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{spawn_blocking, spawn_local};

/// The kernel's caches of one mount. They are created before the mount's client, which queues
/// invalidations for them.
#[derive(Clone, Debug)]
pub struct KernelCaches {
    invalidations: Invalidations,
    /// The end of the queue, until there is a mount.
    queue: Arc<Mutex<Option<UnboundedReceiver<Invalidation>>>>,
}

#[derive(Debug)]
struct Attached {
    notifier: Notifier,
    shared: Arc<Shared>,
}

impl Default for KernelCaches {
    fn default() -> Self {
        let (invalidations, queue) = unbounded_channel();
        Self {
            invalidations,
            queue: Arc::new(Mutex::new(Some(queue))),
        }
    }
}

impl KernelCaches {
    /// Has a client take leases and pass recalls on.
    #[must_use]
    pub fn with_leases(&self, options: Options) -> Options {
        Options {
            leases: true,
            invalidations: Some(self.invalidations.clone()),
            ..options
        }
    }

    /// From now on there is a mount.
    pub(crate) fn attach(&self, client: &Futago, connection: &Connection, shared: &Arc<Shared>) {
        let attached = Attached {
            notifier: connection.notifier(),
            shared: Arc::clone(shared),
        };
        // A second mount with the same caches keeps nothing.
        if let Some(queue) = locked(&self.queue).take() {
            let features = connection.granted().features;
            let caches_names = features.contains(InitFlags::HAS_EXPIRE_ONLY);
            shared.known_nodes.keep(caches_names);
            shared.known_nodes.set_notifier(connection.notifier());
            shared.names.keep(connection.notifier());
            shared.pages.keep();
            shared.listings.keep(connection.notifier());
            client.spawn_beside(|_| invalidate_all(Arc::new(attached), queue));
        }
    }
}

/// Invalidates nodes for as long as the client lives. A slow invalidation does not delay others.
async fn invalidate_all(attached: Arc<Attached>, mut queue: UnboundedReceiver<Invalidation>) {
    while let Some(invalidation) = queue.recv().await {
        let attached = Arc::clone(&attached);
        spawn_local(async move { attached.invalidate(&invalidation).await });
    }
}

impl Attached {
    /// Has the kernel forget a node, and returns when it has.
    async fn invalidate(&self, invalidation: &Invalidation) {
        loop {
            let progress = self.shared.progress.begin_wait();
            let Some(pause_max) = self.forget(invalidation.node, invalidation.server) else {
                return;
            };
            progress.at_most(pause_max).await;
        }
    }

    /// Has the kernel forget what it keeps of a file or directory, but for names on other servers.
    /// Returns `None` when it has, or
    /// when that has taken too long. Otherwise it is to be called again after progress, or after
    /// the returned time.
    fn forget(&self, id: FileId, server: Option<ServerId>) -> Option<Duration> {
        let nodes = self.shared.directories.nodes(id);
        let names = &self.shared.names;
        if let Some(pause_max) = nodes.iter().find_map(|&node| names.expire(node, server)) {
            return Some(pause_max);
        }
        let is_forgotten = |node: u64| match self.notifier.invalidate_inode(node, -1, 0) {
            Ok(is_known) => is_known || !self.shared.knows(node),
            Err(_) => true,
        };
        if !is_forgotten(id.0) || !nodes.into_iter().all(is_forgotten) {
            return Some(TAKE_IN_POLL);
        }
        self.drop_pages(id).or_else(|| self.drop_listing(id))
    }

    /// Has the kernel drop the pages of a file.
    fn drop_pages(&self, id: FileId) -> Option<Duration> {
        let shared = Arc::clone(&self.shared);
        wait(self.shared.pages.recalled(id.0), move || {
            shared.drop_pages(id.0).ok();
        })
    }

    /// The same of a directory.
    fn drop_listing(&self, id: FileId) -> Option<Duration> {
        let shared = Arc::clone(&self.shared);
        wait(self.shared.listings.recalled(id), move || {
            shared.drop_listing(id).ok();
        })
    }
}

/// How long a recalled lease waits at most, whose pages `drop` drops.
fn wait(recalled: Recalled, drop: impl FnOnce() + Send + 'static) -> Option<Duration> {
    match recalled {
        Recalled::Done => None,
        Recalled::Drop => {
            spawn_blocking(drop);
            Some(DROP_MAX)
        }
        Recalled::Waits(left) => Some(left),
    }
}
