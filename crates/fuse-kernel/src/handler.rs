//! The interface that a file system implements.

use crate::{Forget, ParseError, Reply, Request};

/// A file system, called from several reader threads at once or from one event loop.
///
/// The next request is read only after the call returns. If the work may wait, the handler must
/// store the `Reply`, delegate the work and return.
pub trait Handler: 'static {
    /// Executes `request` and replies through `reply`, now or later.
    fn handle(&self, request: Request, reply: Reply);

    /// The caller of request `unique` received a signal. The request still needs exactly one reply:
    /// EINTR at once if it waits, its ordinary result otherwise. It is only called for requests
    /// that were passed to `handle` or are about to be (see `Reply::is_interrupted`).
    fn interrupt(&self, unique: u64);

    /// The kernel forgets lookups of these nodes. There is no reply.
    fn forget(&self, nodes: &[Forget]);

    /// The kernel sent a malformed or unknown message, for the log. It was answered with EIO if
    /// possible.
    fn malformed(&self, error: &ParseError) {
        let _ = error;
    }
}
