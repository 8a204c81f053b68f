//! What the adapter needs of the world: a thread on which a client lives.

use futago_client::{Client, Context};
use futago_node::Futago;
use futago_node::client::NodeContext;
use std::future::Future;
use std::rc::Rc;

/// Runs operations of one client on the thread on which it lives.
pub trait Runtime: Send + Sync + 'static {
    /// The client's context.
    type Context: Context + 'static;

    /// Starts `operation` on the client's thread, from any thread, and does not wait for it.
    ///
    /// A runtime that has ended drops it: whoever waits for the operation is answered `EIO`.
    fn spawn<F>(&self, operation: impl FnOnce(Rc<Client<Self::Context>>) -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static;
}

impl Runtime for Futago {
    type Context = NodeContext;

    fn spawn<F>(&self, operation: impl FnOnce(Rc<Client<NodeContext>>) -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        if !self.spawn(operation) {
            tracing::error!("the client has stopped: a request of the kernel fails");
        }
    }
}
