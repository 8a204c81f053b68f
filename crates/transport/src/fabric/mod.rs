//! Connections through a fabric of libfabric, such as InfiniBand.
//!
//! After the proof of the key over a socket, both ends open an endpoint of the cluster's
//! [`Provider`] and exchange its addresses ([`handover`]). From then on bytes go in messages
//! between registered buffers ([`wire`]). The socket signals the peer's death, and wakes a blocked
//! end if the provider cannot ([`FabricStream`]). Messages are framed and verified as on a socket.

mod endpoint;
mod handover;
mod library;
mod memory;
mod object;
mod options;
mod provider;
mod stream;
mod table;
mod wire;

pub use provider::{FabricError, Provider};
pub use stream::FabricStream;
