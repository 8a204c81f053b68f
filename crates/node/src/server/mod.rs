//! Servers: receive, decide, commit, release.
//!
//! Every server has its own listener, store and core; those of a thread share its connections. A thread
//! takes in everything that has arrived, has the server decide that each input is for, applies its batch, and
//! sends all that came of it at once.

mod connections;
mod files;
mod pages;
mod peers;
mod process;
mod shard;
mod status;
mod thread;
mod waiting;

pub use process::{Config, Servers, run};
pub use status::Status;
pub use waiting::WaitingRequest;
