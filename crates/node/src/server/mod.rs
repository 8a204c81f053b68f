//! Servers: receive, decide, commit, release.
//!
//! Every server is a thread with its own listener, store and core; they share nothing. A thread
//! takes in everything that has arrived, decides on each input in turn, applies its batch, and
//! sends all that came of it at once.

mod connections;
mod files;
mod pages;
mod peers;
mod process;
mod shard;
mod status;

pub use process::{Config, Servers, run};
pub use status::Status;
