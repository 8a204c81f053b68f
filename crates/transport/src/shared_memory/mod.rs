//! Connections between processes of one host through memory that both have mapped.
//!
//! After the proof of the key over a Unix socket, the connecting end hands over a file in memory
//! ([`region`]). From then on each direction is a stream of bytes in a [`ring`]. The socket only
//! wakes a blocked end and signals the peer's death ([`MemoryStream`]). Messages are framed and
//! verified as on a socket, after they have been copied out.

pub mod memory;
pub mod region;
pub mod ring;

mod handover;
mod lines;
mod stream;

pub use stream::MemoryStream;
