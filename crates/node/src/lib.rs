//! The real runtime, which runs servers and clients of a cluster on real sockets, clocks and
//! memory.

pub mod asynchronous;
mod backing;
pub mod blocking;
pub mod client;
mod clock;
pub mod cluster;
mod contact;
mod cooperative;
pub mod cores;
mod locations;
pub mod metrics_exporter;
mod opened;
mod reachable;
pub mod search;
pub mod server;
pub mod time_slices;

pub use backing::{BackingStore, FlushPolicy, Loading};
pub use client::{Futago, Invalidation, Invalidations, Options, RecordedClient, Starter};
pub use clock::Clock;
pub use cluster::{Cluster, ClusterError, Copying, Limits, ServerEntry};
pub use cooperative::{Cooperative, CooperativeChoice};
pub use futago_store::Sync;
pub use futago_trace::Recorder;
pub use reachable::ensure_reachable;

/// Compiles the examples of the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;
