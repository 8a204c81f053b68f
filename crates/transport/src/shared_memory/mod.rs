//! Connections between processes of one host through memory that both have mapped.
//!
//! After the proof of the key over a Unix socket the connecting end hands over a file in memory
//! ([`region`]). From then on it is a stream of bytes each way, a [`ring`] each, and the socket only
//! wakes who sleeps and tells when the other end is gone ([`MemoryStream`]). Messages are framed and
//! checked as on a socket, after they have been copied out.

pub mod memory;
pub mod region;
pub mod ring;
pub mod waiting;

mod handover;
mod lines;
mod stream;
mod watch;

pub use stream::MemoryStream;
pub use watch::keep_watch;
