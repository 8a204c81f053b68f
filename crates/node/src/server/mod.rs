//! Servers: receive, decide, commit, release.
//!
//! Every server has its own listener, store and core; the servers of a thread share its
//! connections. A thread receives all messages that have arrived. The addressed server decides
//! about each one and applies the batch. Then the thread sends all resulting messages at once.

mod adoption;
mod connections;
mod files;
mod pages;
mod peers;
mod process;
mod servers;
mod shard;
mod status;
mod surroundings;
mod thread;
mod waiting;
mod worker;

pub use process::{Config, run};
pub use servers::Servers;
pub use status::Status;
pub use surroundings::{OpenDirectory, Surroundings};
pub use waiting::WaitingRequest;
