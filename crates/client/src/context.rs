//! The only thing between an operation and the world.

use core::future::Future;
use futago_base::{Duration, FileId, Payload, ServerId, SessionId, Time};
use futago_wire::{Failure, Reply, Request};

/// What operations need from the world. Futures need not be `Send`: an operation stays on
/// one thread.
pub trait Context {
    /// The present time by a clock that never steps, for leases and timeouts.
    fn now(&self) -> Time;

    /// The present time by the wall clock, and never before what servers have shown, for stamps of
    /// files and the age of operations. By default the clock never steps, and is both.
    fn stamp(&self) -> Time {
        self.now()
    }

    /// A random number, for back-off.
    fn random(&self) -> u64;

    /// The client's session.
    fn session(&self) -> SessionId;

    /// A number that the client's session has not used yet, for a request or a transaction; they rise from 1.
    ///
    /// A request's call starts before any other number is drawn or the number is never used for a
    /// request: what is drawn and not under way counts as done with.
    fn next_sequence(&self) -> u64;

    /// Sends a request and waits for its answer: resends it until it is answered, backs off while the
    /// server is busy. Starts when it is first polled; dropping the future does not take the request
    /// back. Fails with [`Failure::Errno`] and `EIO` when the server cannot be reached for the
    /// configured time.
    fn call(
        &self,
        to: ServerId,
        sequence: u64,
        request: Request,
        payload: Payload,
    ) -> impl Future<Output = Result<(Reply, Payload), Failure>>;

    /// Waits.
    fn sleep(&self, span: Duration) -> impl Future<Output = ()>;

    /// Has everybody forget who keeps, outside of the client, what it has told of a node under a lease. By default
    /// nobody does.
    fn forget(&self, _node: FileId) -> impl Future<Output = ()> {
        async {}
    }
}
