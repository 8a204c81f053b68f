//! Connections between Futago's processes: the only place that talks to a peer.

pub mod address;
pub mod key;

pub use address::{Address, AddressError};
pub use key::{ClusterKey, KeyError};
