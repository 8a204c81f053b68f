//! File data on its way: reference-counted, never copied by the cores.

use bytes::Bytes;

/// A piece of file data. Cloning and slicing share the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(Bytes);

impl Payload {
    /// No data.
    pub const fn empty() -> Self {
        Self(Bytes::new())
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes `from..to`. Panics if they are not within the payload, as slices do.
    pub fn slice(&self, from: usize, to: usize) -> Self {
        Self(self.0.slice(from..to))
    }

    /// The bytes themselves.
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}
