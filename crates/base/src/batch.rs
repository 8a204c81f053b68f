//! Batches: the only way to change a server's state.

use crate::{ChunkId, Key, Payload, Value};
use alloc::vec::Vec;

/// A change of a chunk's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataChange {
    /// Puts `payload` at `offset`.
    Write {
        /// The chunk.
        chunk: ChunkId,
        /// Offset within the chunk, in bytes.
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
    /// The changed chunk.
    pub const fn chunk(&self) -> ChunkId {
        match self {
            Self::Write { chunk, .. } | Self::Punch { chunk, .. } => *chunk,
        }
    }
}

/// A set of changes that take effect together or not at all.
///
/// A store applies it atomically, a log makes it durable, a replica replays it, and a store can
/// compute its inverse. Records are set to absolute values, so that applying a batch twice has the
/// same effect as applying it once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Records to put (`Some`) or delete (`None`); no key occurs twice.
    pub records: Vec<(Key, Option<Value>)>,
    /// Changes of data, in order of application.
    pub data: Vec<DataChange>,
}

impl Batch {
    /// Whether the batch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.data.is_empty()
    }
}
