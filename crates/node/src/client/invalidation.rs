//! Events by which a program learns that its own caches are out of date.

use futago_base::{FileId, ServerId};
use tokio::sync::{mpsc, oneshot};

/// A node that a program must remove from its own caches, because a lease on it ends.
///
/// The client returns the lease when the event is dropped: the program keeps the event until no
/// cache of it holds anything of the node.
#[derive(Debug)]
pub struct Invalidation {
    /// The file or directory.
    pub node: FileId,
    /// The server of the lease: of a directory only the names there must be removed. `None` for all
    /// servers.
    pub server: Option<ServerId>,
    _end: oneshot::Sender<()>,
}

/// The queue of the events of one client.
pub type Invalidations = mpsc::UnboundedSender<Invalidation>;

/// Queues an event, and waits for its end. A program that has stopped reading the queue has no
/// caches any more.
pub(super) async fn invalidate(queue: &Invalidations, node: FileId, server: Option<ServerId>) {
    let (done, end) = oneshot::channel();
    let invalidation = Invalidation {
        node,
        server,
        _end: done,
    };
    if queue.send(invalidation).is_ok() {
        // The program sends nothing: the end of the event is all that it says.
        end.await.ok();
    }
}
