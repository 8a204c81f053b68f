//! Connections between Futago's processes. No other crate communicates with a peer.
//!
//! A connection begins with a [`handshake`] that proves the cluster key mutually. Afterwards both
//! sides exchange [`Frame`](futago_wire::Frame)s.

pub mod acceptor;
pub mod address;
pub mod busy;
pub mod channel;
mod checksum;
pub mod connection;
pub mod decoder;
pub mod fabric;
pub mod handshake;
pub mod inheritance;
pub mod key;
mod large;
pub mod led_socket;
mod polling;
pub mod reach;
pub mod secure;
pub mod session;
pub mod shared_memory;
pub mod socket;
pub mod stream;
mod waiter;
mod waiters;
pub mod waiting;
pub mod watched_socket;

pub use acceptor::{Acceptor, ConnectionHandler, ConnectionSlot};
pub use address::{Address, AddressError};
pub use channel::Channel;
pub use connection::{Budget, ConnectionError, Receiver, Sender, split};
pub use fabric::{FabricError, FabricStream, Provider};
pub use handshake::{Continuation, HandshakeError, Hello, Party, Refusal, Role};
pub use key::{ClusterKey, KeyError};
pub use led_socket::LedSocket;
pub use polling::poll_streams;
pub use reach::{reach, reach_address, reach_over_fabric};
pub use secure::SecureStream;
pub use session::Session;
pub use socket::Socket;
pub use stream::{Listener, Stream};
pub use watched_socket::WatchedSocket;
