//! Data that is not in memory.

use bytes::Bytes;
use core::{any::Any, fmt::Debug};

/// A piece of data that is read when it is needed.
pub trait Source: Any + Debug + Send + Sync {
    /// The bytes `from..to` of the piece. If they cannot be read, the result is zeros, which must
    /// not leave the server: see [`Store::take_unreadable`](crate::Store::take_unreadable).
    fn read(&self, from: usize, to: usize) -> Bytes;
}
