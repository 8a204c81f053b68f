//! The operations of the clients of a benchmark or a simulation, as plain values. They are
//! independent of the program and of the file system that execute them.

pub mod contents;
pub mod io;
pub mod metadata;
mod permutation;
pub mod trace;

pub use contents::contents;
pub use io::{Access, FileLayout, IoPhase, IoWorkload, Mistake, Transfer};
pub use metadata::{MetadataPhase, MetadataWorkload};
pub(crate) use permutation::Permutation;
pub use trace::Trace;

/// The client whose files a client reads: the next one, so that no client finds its own files in
/// its cache. A single client has only its own.
pub const fn neighbour(client: u32, clients: u32) -> u32 {
    if client + 1 < clients { client + 1 } else { 0 }
}
