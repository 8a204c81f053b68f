//! The decider of a server.

use futago_base::{Moment, View};
use futago_server::{Decision, Input, Server};

/// Decides for a server. A test that plants mistakes stands between the driver and the core.
pub trait Core<S> {
    /// The core.
    fn server(&self) -> &Server;

    /// Decides about an input at the time `decided`, which is later than that of every decision
    /// before. The clocks themselves show `read`.
    fn handle(&mut self, store: &S, input: Input, decided: Moment, read: Moment) -> Decision;

    /// Whether requests that are answered take no place any more.
    fn frees_places(&self) -> bool {
        true
    }
}

impl<S: View> Core<S> for Server {
    fn server(&self) -> &Server {
        self
    }

    fn handle(&mut self, store: &S, input: Input, decided: Moment, _read: Moment) -> Decision {
        Server::handle(self, store, input, decided)
    }
}
