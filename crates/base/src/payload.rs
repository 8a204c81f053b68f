//! File data on its way: reference-counted, never copied by the cores.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A piece of file data. Cloning and slicing share the memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Bytes", into = "Bytes")]
pub struct Payload {
    bytes: Bytes,
    /// The size of the buffer that `bytes` keeps in memory.
    buffer_bytes: usize,
}

impl Payload {
    /// No data.
    pub const fn empty() -> Self {
        Self {
            bytes: Bytes::new(),
            buffer_bytes: 0,
        }
    }

    /// Data that is a slice of a buffer of `buffer_bytes` bytes, which stays in memory as long as
    /// the slice does.
    pub const fn within(bytes: Bytes, buffer_bytes: usize) -> Self {
        Self {
            bytes,
            buffer_bytes,
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes `from..to`. Panics if they are not within the payload, as slices do.
    pub fn slice(&self, from: usize, to: usize) -> Self {
        Self::within(self.bytes.slice(from..to), self.buffer_bytes)
    }

    /// The bytes themselves.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same data, in a buffer of its own if it would keep a much larger one in memory: what is
    /// stored for long wastes less than half of its memory.
    #[must_use]
    pub fn compact(self) -> Self {
        if self.len() * 2 > self.buffer_bytes {
            return self;
        }
        Self::from(Bytes::copy_from_slice(&self.bytes))
    }
}

impl From<Bytes> for Payload {
    /// Takes data that has its buffer for itself.
    fn from(bytes: Bytes) -> Self {
        Self {
            buffer_bytes: bytes.len(),
            bytes,
        }
    }
}

impl From<Payload> for Bytes {
    fn from(payload: Payload) -> Self {
        payload.bytes
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Payload {}
