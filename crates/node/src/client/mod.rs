//! Clients: handles with which threads run operations over real connections, and the thread of each
//! client that does the background work.

mod caller;
mod connection;
mod context;
mod handle;
mod recalls;
mod recorded;
mod runtime;
mod starter;

pub use context::NodeContext;
pub use handle::{Futago, Invalidation, Options};
pub use recorded::RecordedClient;
pub use starter::Starter;
