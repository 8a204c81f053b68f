//! How a file's data is cut into chunks, and what a client remembers of it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use futago_base::{ChunkId, ClusterMap, FileId, Payload, ServerId, record::Truncations};
use serde::Serialize;

/// What a client remembers of a file's data. It is relied on while the file has the stamp with which its home was read;
/// otherwise others may have changed the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileHint {
    /// Bytes a chunk; it never changes.
    pub chunk_bytes: u32,
    /// The file's shrinkings. A newer one shows in every answer of the file's home.
    pub truncations: Truncations,
    /// Up to where chunks may be written before the home has been told, in bytes.
    pub writable: u64,
    /// How far there may be chunks besides the first one, in bytes: beyond there is nothing but
    /// holes.
    pub reach: u64,
    /// The size when it was last seen, in bytes: how far it is worth asking for chunks before the
    /// home has told the size.
    pub size_seen: u64,
    /// The stamp of the file's data when its home was last asked to read of it: while that stays, nobody has changed the file.
    pub read_stamp: Option<u64>,
    /// Where the last read ended that needed servers: who begins there probably reads on, in bytes.
    pub read_end: u64,
}

impl FileHint {
    pub fn new(chunk_bytes: u32, size_seen: u64) -> Self {
        Self {
            chunk_bytes,
            truncations: Truncations::default(),
            writable: 0,
            reach: u64::MAX,
            size_seen,
            read_stamp: None,
            read_end: 0,
        }
    }
}

impl FileHint {
    /// Where the last chunk ends that there may be. There may always be the first one, which is at
    /// the file's home.
    pub fn chunks_end(&self) -> u64 {
        let width = u64::from(self.chunk_bytes).max(1);
        self.reach.div_ceil(width).max(1).saturating_mul(width)
    }
}

/// Data, and where in its file it begins.
pub type Piece = (u64, Payload);

/// A part of a range of a file that lies within one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The chunk.
    pub chunk: ChunkId,
    /// First byte within the chunk.
    pub from: u32,
    /// The byte after the last.
    pub to: u32,
    /// Where the part begins within the file.
    pub offset: u64,
}

impl Part {
    pub const fn len(&self) -> usize {
        (self.to - self.from) as usize
    }

    /// The byte after the last within the file.
    pub const fn end(&self) -> u64 {
        self.offset + (self.to - self.from) as u64
    }
}

/// The parts of `from..to`, one a chunk, in order.
pub fn parts(file: FileId, chunk_bytes: u32, from: u64, to: u64) -> Vec<Part> {
    let width = u64::from(chunk_bytes);
    if width == 0 || from >= to {
        return Vec::new();
    }
    (from / width..=(to - 1) / width)
        .map(|index| {
            let start = index * width;
            let offset = from.max(start);
            Part {
                chunk: ChunkId { file, index },
                from: (offset - start) as u32,
                to: (to - start).min(width) as u32,
                offset,
            }
        })
        .collect()
}

/// The servers that may hold chunks of `from..to` other than chunk 0.
pub fn chunk_servers(
    map: &ClusterMap,
    file: FileId,
    chunk_bytes: u32,
    from: u64,
    to: u64,
) -> BTreeSet<ServerId> {
    let width = u64::from(chunk_bytes);
    if width == 0 || from >= to {
        return BTreeSet::new();
    }
    let first = (from / width).max(1);
    let end = to.div_ceil(width);
    let partitions = map.partition_count() as u64;
    // After as many chunks as there are partitions, the same servers come again.
    (first..end.min(first.saturating_add(partitions)))
        .map(|index| map.chunk_server(ChunkId { file, index }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_base::{Partition, map::Policy};

    #[test]
    fn a_range_is_cut_at_the_borders_of_chunks() {
        let file = FileId(7);
        let cut: Vec<_> = parts(file, 10, 5, 23)
            .iter()
            .map(|part| (part.chunk.index, part.from, part.to, part.offset))
            .collect();
        assert_eq!(cut, [(0, 5, 10, 5), (1, 0, 10, 10), (2, 0, 3, 20)]);
        assert_eq!(parts(file, 10, 5, 5), []);
        let last = parts(file, 4096, i64::MAX as u64 - 1, i64::MAX as u64);
        assert_eq!((last[0].from, last[0].to), (4094, 4095));
    }

    #[test]
    fn a_huge_range_names_every_server_once() {
        let map = ClusterMap::new(1, Policy::Modular, 8, 4).unwrap();
        let file = FileId::new(Partition(0), 1);
        let all = chunk_servers(&map, file, 4096, 0, i64::MAX as u64);
        assert_eq!(all.len(), 4);
        assert!(chunk_servers(&map, file, 4096, 0, 4096).is_empty());
    }
}
