//! The state of a server as a handler reads it.

use crate::{ChunkId, Key, Value, data::Extents, record::Sort};
use serde::{Deserialize, Serialize};

/// The occupancy of a store, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// The configured limit.
    pub limit_bytes: u64,
    /// The bytes that records and data take.
    pub used_bytes: u64,
    /// The number of inodes.
    pub files: u64,
}

impl Space {
    /// The bytes left below the limit.
    pub const fn free_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes)
    }
}

/// The state of a server: ordered records and the data of chunks.
pub trait View {
    /// The record named `key`.
    fn get(&self, key: &Key) -> Option<&Value>;

    /// The records from `from` up to but not including `to`, in order.
    fn range(&self, from: Key, to: Key) -> impl Iterator<Item = (&Key, &Value)>;

    /// Whether there are records of a kind.
    fn has_any(&self, sort: Sort) -> bool {
        let (from, to) = Key::whole_sort(sort);
        self.range(from, to).next().is_some()
    }

    /// The data of a chunk; `None` if it has none.
    fn data(&self, chunk: ChunkId) -> Option<&Extents>;

    /// The occupancy of the store.
    fn space(&self) -> Space;
}
