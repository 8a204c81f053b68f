//! Clients: handles with which threads run operations over real connections, and the thread of each
//! client that does what is to be done while nobody waits.

mod caller;
mod connection;
mod context;
mod handle;
mod runtime;
mod shared_clock;

pub use context::NodeContext;
pub use handle::{Futago, Options};

/// A client as its operations see it.
pub type Client = futago_client::Client<NodeContext>;
