//! Clients: a thread that drives a client's operations over real connections, and the handles with
//! which other threads use it.

mod connection;
mod context;
mod handle;
mod runtime;
mod shared_clock;

pub use context::NodeContext;
pub use handle::{Futago, Options};

/// A client as its operations see it on the client's thread.
pub type Client = futago_client::Client<NodeContext>;
