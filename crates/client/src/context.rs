//! The interface between an operation and the outside world.

use alloc::sync::Arc;
use core::future::Future;
use futago_base::{Duration, FileId, Payload, ServerId, SessionId, Time, record::Door};
use futago_wire::{CacheReply, CacheRequest, Failure, Holder, Reply, Request};

/// The services that operations need. Futures need not be `Send`, because an operation stays on one
/// thread.
pub trait Context {
    /// The present time of a clock that never steps, for leases and timeouts.
    fn now(&self) -> Time;

    /// The present wall-clock time, for timestamps of files and the age of operations. It is never
    /// before the times in messages of servers. By default it is the clock that never steps.
    fn stamp(&self) -> Time {
        self.now()
    }

    /// A random number, for back-off.
    fn random(&self) -> u64;

    /// The session of the client.
    fn session(&self) -> SessionId;

    /// A new sequence number of the session, for a request or a transaction; the numbers rise from
    /// 1.
    ///
    /// The call of a request must start before the next number is drawn. Otherwise the number must
    /// not be used for a request, because a drawn number that is not under way counts as completed.
    fn next_sequence(&self) -> u64;

    /// Sends a request and waits for its reply. It resends the request until a reply arrives, and
    /// backs off while the server is busy. The call starts when it is first polled; dropping the
    /// future does not cancel the request. Errors: [`Failure::Errno`] with `EIO` when the server
    /// cannot be reached for the configured time.
    fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> impl Future<Output = Result<(Reply, Payload), Failure>>;

    /// Waits for a duration.
    fn sleep(&self, span: Duration) -> impl Future<Output = ()>;

    /// Where other clients reach this one, if it shares its cache. By default it does not.
    fn door(&self) -> Option<Door> {
        None
    }

    /// A number that changes whenever anything of another client arrives. By default it does not.
    fn heard_of_client(&self, _session: SessionId) -> u64 {
        0
    }

    /// Asks another client; `None` if it cannot be reached. By default none can be.
    fn ask_client(
        &self,
        _holder: Arc<Holder>,
        _request: CacheRequest,
    ) -> impl Future<Output = Option<(CacheReply, Payload)>> {
        async { None }
    }

    /// Invalidates caches outside of the client, such as that of a kernel, of what a server has of
    /// a node: the attributes, and the names of a directory there
    /// ([`Client::name_server`](crate::Client::name_server)); with `None` all names. By default
    /// there are no such caches.
    fn forget(&self, _node: FileId, _server: Option<ServerId>) -> impl Future<Output = ()> {
        async {}
    }
}
