//! What the clients of a benchmark or of a simulation do, as plain values: who performs them, and on
//! what, is not known here.

pub mod contents;
pub mod io;
pub mod metadata;
mod permutation;
pub mod trace;

pub use contents::contents;
pub use io::{Access, FileLayout, IoPhase, IoWorkload, Mistake, Transfer};
pub use metadata::{MetadataPhase, MetadataWorkload};
pub use trace::Trace;

/// The client whose files a client looks at: the next one, so that nobody finds in a cache of its
/// own what it made itself. A single client has only its own.
pub const fn neighbour(client: u32, clients: u32) -> u32 {
    if client + 1 < clients { client + 1 } else { 0 }
}
