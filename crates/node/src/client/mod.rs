//! Clients: handles with which threads run operations over real connections, and the thread of each
//! client that does what is to be done while nobody waits.

mod caller;
mod connection;
mod context;
mod handle;
mod recalls;
mod recorded;
mod runtime;
mod starter;

pub use context::NodeContext;
pub use handle::{Futago, Kept, Options};
pub use recorded::Client;
pub use starter::Starter;
