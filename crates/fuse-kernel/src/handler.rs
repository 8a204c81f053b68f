//! What a file system implements.

use crate::{Forget, ParseError, Reply, Request};

/// A file system, called from several reader threads at once or from one event loop.
///
/// The next request is read only when the call returns: keep the `Reply`, give the work to
/// somebody else and return, if the work may wait for anything.
pub trait Handler: 'static {
    /// Do what `request` says and answer through `reply`, now or later.
    fn handle(&self, request: Request, reply: Reply);

    /// The caller of request `unique` got a signal. The request still wants its one answer: EINTR
    /// at once if it was waiting, whatever comes of it otherwise. Called only for requests that
    /// were given to `handle` or are about to be (see `Reply::is_interrupted`).
    fn interrupt(&self, unique: u64);

    /// The kernel forgets lookups of these nodes. No answer.
    fn forget(&self, nodes: &[Forget]);

    /// The kernel sent something that is not a request as this crate knows it; it was answered
    /// with EIO if it could be. For the log.
    fn malformed(&self, error: &ParseError) {
        let _ = error;
    }
}
