//! The division of file data into chunks, and the cached layout of a file.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use futago_base::{ChunkId, ClusterMap, FileId, Payload, ServerId, record::Truncations};
use serde::Serialize;

/// The cached layout of a file. It is valid while the file has the data version with which its home
/// was read. Otherwise other clients may have changed the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileHint {
    /// The chunk size, in bytes; it never changes.
    pub chunk_bytes: u32,
    /// The truncations of the file. Every reply of its home shows a newer one.
    pub truncations: Truncations,
    /// The offset up to which chunks may be written before the home is notified, in bytes.
    pub writable: u64,
    /// The offset up to which chunks besides the first may exist, in bytes: beyond it there are
    /// only holes.
    pub reach: u64,
    /// The last reported size, in bytes. Up to this offset it is worth asking for chunks before the
    /// home has reported the size.
    pub size_seen: u64,
    /// The data version when the home was last asked to read. While it stays, no client has changed
    /// the file.
    pub read_version: Option<u64>,
    /// The end of the last read from servers, in bytes. A read that begins there is probably
    /// sequential.
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
            read_version: None,
            read_end: 0,
        }
    }
}

impl FileHint {
    /// The end of the last chunk that may exist. The first chunk, at the home of the file, may
    /// always exist.
    pub fn chunks_end(&self) -> u64 {
        let width = u64::from(self.chunk_bytes).max(1);
        self.reach.div_ceil(width).max(1).saturating_mul(width)
    }
}

/// Data, and its offset in the file.
pub type Piece = (u64, Payload);

/// A part of a range of a file that lies within one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The chunk.
    pub chunk: ChunkId,
    /// The first byte within the chunk.
    pub from: u32,
    /// The byte after the last, within the chunk.
    pub to: u32,
    /// The offset of the part in the file.
    pub offset: u64,
}

impl Part {
    pub const fn len(&self) -> usize {
        (self.to - self.from) as usize
    }

    /// The offset after the last byte, in the file.
    pub const fn end(&self) -> u64 {
        self.offset + (self.to - self.from) as u64
    }
}

/// The parts of `from..to`, one for each chunk, in order.
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
    // After as many chunks as there are partitions, the same servers repeat.
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
