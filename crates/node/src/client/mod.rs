//! Clients: handles with which threads run operations over real connections, and the thread of each
//! client that does the background work.

mod caller;
mod connection;
mod context;
mod handle;
mod invalidation;
mod link;
mod locating;
pub(crate) mod metrics;
mod recalls;
mod recorded;
mod runtime;
mod sharing;
mod starter;
mod wakeup;

pub use context::NodeContext;
pub use handle::{Futago, Options, Stopped};
pub use invalidation::{Invalidation, Invalidations};
pub use recorded::RecordedClient;
pub use starter::Starter;
