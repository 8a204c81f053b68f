//! The kernel's caches under the client's leases, and their invalidation.
//!
//! Replies tell the kernel how long it may use attributes and names without a request. A recalled
//! lease ends that at once, by notifications. For some of them the kernel needs no lock, because
//! operations on the same files may be under way; for others a thread waits, and not for long
//! ([`kernel_names`](crate::kernel_names)). If the kernel does not know a node of a reply, it is
//! about to process that reply: the notification is repeated until the kernel knows the node, or
//! has forgotten it. The kernel does not cache replies to requests from before the notification;
//! where it would, the reply is given before another client can have a lease recalled
//! ([`gateway`](crate::gateway)).

use crate::cached_pages::Recalled;
use crate::call::Shared;
use futago_base::FileId;
use futago_fuse_kernel::{Connection, EXPIRES_ALL_NAMES, Notifier};
use futago_node::{Invalidation, Options};
use std::sync::{Arc, OnceLock};
use tokio::task::spawn_blocking;

/// The kernel's caches of one mount. They are created before the mount's client, which reports
/// recalled leases to them.
#[derive(Clone, Debug, Default)]
pub struct KernelCaches(Arc<OnceLock<Attached>>);

#[derive(Debug)]
struct Attached {
    notifier: Notifier,
    shared: Arc<Shared>,
}

impl KernelCaches {
    /// Has a client take leases and pass recalls on.
    #[must_use]
    pub fn with_leases(&self, options: Options) -> Options {
        let caches = self.clone();
        Options {
            leases: true,
            invalidation: Some(Invalidation(Arc::new(move |node| caches.forget(node)))),
            ..options
        }
    }

    /// From now on there is a mount.
    pub(crate) fn attach(&self, connection: &Connection, shared: &Arc<Shared>) {
        let attached = Attached {
            notifier: connection.notifier(),
            shared: Arc::clone(shared),
        };
        // A second mount with the same caches keeps nothing.
        if self.0.set(attached).is_ok() {
            let caches_names = connection.granted().kernel_minor >= EXPIRES_ALL_NAMES;
            shared.known_nodes.keep(caches_names);
            shared.known_nodes.set_notifier(connection.notifier());
            shared.names.keep(connection.notifier());
            shared.pages.keep();
            shared.listings.keep(connection.notifier());
        }
    }

    /// Has the kernel forget what it keeps of a file or directory. Returns whether it has.
    fn forget(&self, id: FileId) -> bool {
        self.0.get().is_none_or(|attached| attached.forget(id))
    }
}

impl Attached {
    fn forget(&self, id: FileId) -> bool {
        let nodes = self.shared.directories.nodes(id);
        let names = &self.shared.names;
        if nodes.iter().any(|&node| !names.expire(node)) {
            return false;
        }
        let is_forgotten = |node: u64| match self.notifier.invalidate_inode(node, -1, 0) {
            Ok(is_known) => is_known || !self.shared.knows(node),
            Err(_) => true,
        };
        let is_forgotten = is_forgotten(id.0) && nodes.into_iter().all(is_forgotten);
        is_forgotten && self.drops_pages(id) && self.drops_listing(id)
    }

    /// Has the kernel drop the pages of a file. Returns whether that is done, or has taken too
    /// long.
    fn drops_pages(&self, id: FileId) -> bool {
        let recalled = self.shared.pages.recalled(id.0);
        if recalled == Recalled::Drop {
            let shared = Arc::clone(&self.shared);
            spawn_blocking(move || shared.pages.drop_pages(id.0).ok());
        }
        recalled == Recalled::Done
    }

    /// The same of a directory.
    fn drops_listing(&self, id: FileId) -> bool {
        let recalled = self.shared.listings.recalled(id);
        if recalled == Recalled::Drop {
            let shared = Arc::clone(&self.shared);
            spawn_blocking(move || shared.drop_listing(id).ok());
        }
        recalled == Recalled::Done
    }
}
