//! The one description of a change.

use crate::{ChunkId, Key, Payload, Value};
use alloc::vec::Vec;

/// A change of a chunk's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataChange {
    /// Puts `payload` at `offset`.
    Write {
        /// The chunk.
        chunk: ChunkId,
        /// Where in the chunk, in bytes.
        offset: u32,
        /// The data.
        payload: Payload,
    },
    /// Makes `from..to` a hole.
    Punch {
        /// The chunk.
        chunk: ChunkId,
        /// First byte, within the chunk.
        from: u32,
        /// The byte after the last.
        to: u32,
    },
}

impl DataChange {
    /// The chunk that is changed.
    pub const fn chunk(&self) -> ChunkId {
        match self {
            Self::Write { chunk, .. } | Self::Punch { chunk, .. } => *chunk,
        }
    }
}

/// A set of changes that take effect together or not at all.
///
/// A store applies it atomically, a log makes it durable, a replica replays it, and a store can
/// give its inverse back. Records are set to an absolute value, so that applying a batch twice is
/// the same as applying it once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Records to put (`Some`) or delete (`None`); no key twice.
    pub records: Vec<(Key, Option<Value>)>,
    /// Changes of data, in this order.
    pub data: Vec<DataChange>,
}

impl Batch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.data.is_empty()
    }
}
