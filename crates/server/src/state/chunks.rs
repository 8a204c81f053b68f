//! The data of files, chunk by chunk, and what truncations mean for chunks.

use crate::turn::Turn;
use alloc::vec::Vec;
use bytes::{Bytes, BytesMut};
use futago_base::{
    ChunkId, DataChange, FileId, Key, Payload, View,
    record::{Truncation, Truncations},
};

impl<V: View> Turn<'_, V> {
    /// Puts data into a chunk, which is cut first if it has missed a truncation.
    pub fn write_chunk(
        &mut self,
        chunk: ChunkId,
        offset: u32,
        payload: Payload,
        chunk_start: u64,
        truncations: &Truncations,
    ) {
        self.catch_up(chunk, chunk_start, truncations);
        self.hear_of(chunk, truncations.latest);
        self.state.write_data(chunk, offset, payload);
    }

    /// Cuts a chunk that has missed truncations. `chunk_start` is its first byte within the file.
    pub fn catch_up(&mut self, chunk: ChunkId, chunk_start: u64, truncations: &Truncations) {
        let Some(heard) = self.heard(chunk) else {
            return;
        };
        if let Some(limit) = truncations.limit_since(heard) {
            let from = limit.saturating_sub(chunk_start).min(u64::from(u32::MAX)) as u32;
            self.state.change_data(DataChange::Punch {
                chunk,
                from,
                to: u32::MAX,
            });
            self.hear_of(chunk, truncations.latest);
        }
    }

    /// The latest truncation that a chunk has heard of, if the chunk exists.
    fn heard(&self, chunk: ChunkId) -> Option<u64> {
        self.state
            .get(&Key::Chunk(chunk))
            .and_then(futago_base::Value::number)
            .copied()
    }

    fn hear_of(&mut self, chunk: ChunkId, latest: u64) {
        let heard = self.heard(chunk).unwrap_or(0).max(latest);
        self.state.put(Key::Chunk(chunk), heard);
    }

    /// How much of a chunk still counts, in bytes from its start, for somebody who knows of
    /// `truncations`.
    pub fn valid_end(&self, chunk: ChunkId, chunk_start: u64, truncations: &Truncations) -> u32 {
        let limit = self
            .heard(chunk)
            .and_then(|heard| truncations.limit_since(heard));
        limit.map_or(u32::MAX, |limit| {
            limit.saturating_sub(chunk_start).min(u64::from(u32::MAX)) as u32
        })
    }

    /// The bytes `from..to` of a chunk, with zeros for holes and for what lies at or after `valid`.
    pub fn read_chunk(&self, chunk: ChunkId, from: u32, to: u32, valid: u32) -> Payload {
        if from >= to {
            return Payload::empty();
        }
        let pieces = match self.state.data(chunk) {
            Some(extents) if from < valid => extents.read(from, to.min(valid)),
            _ => Vec::new(),
        };
        if let [(start, piece)] = pieces.as_slice()
            && *start == from
            && piece.len() == (to - from) as usize
        {
            return piece.clone();
        }
        let mut whole = BytesMut::zeroed((to - from) as usize);
        for (start, piece) in pieces {
            let at = (start - from) as usize;
            whole[at..at + piece.len()].copy_from_slice(piece.bytes());
        }
        Payload::from(Bytes::from(whole))
    }

    /// The chunks of a file that this server holds, from number `first` on.
    pub fn chunks_here(&self, file: FileId, first: u64) -> impl Iterator<Item = ChunkId> {
        let (from, to) = Key::chunks(file, first);
        self.state.range(from, to).filter_map(|(key, _)| match key {
            Key::Chunk(chunk) => Some(*chunk),
            _ => None,
        })
    }

    /// Removes a chunk as if it had never been written.
    pub fn remove_chunk(&mut self, chunk: ChunkId) {
        self.state.delete(Key::Chunk(chunk));
        self.state.change_data(DataChange::Punch {
            chunk,
            from: 0,
            to: u32::MAX,
        });
    }

    /// Removes all chunks of a file from this server.
    pub fn remove_chunks(&mut self, file: FileId) {
        let chunks: Vec<ChunkId> = self.chunks_here(file, 0).collect();
        for chunk in chunks {
            self.remove_chunk(chunk);
        }
    }

    /// Cuts this server's chunks of a file that has shrunk.
    pub fn cut_chunks(&mut self, file: FileId, chunk_bytes: u32, truncation: Truncation) {
        let width = u64::from(chunk_bytes.max(1));
        let truncations = Truncations {
            latest: truncation.sequence,
            steps: alloc::vec![truncation],
        };
        let chunks: Vec<ChunkId> = self.chunks_here(file, truncation.size / width).collect();
        for chunk in chunks {
            let start = chunk.index * width;
            if start >= truncation.size && self.heard(chunk) < Some(truncation.sequence) {
                self.remove_chunk(chunk);
            } else {
                self.catch_up(chunk, start, &truncations);
            }
        }
    }

    /// A server has confirmed that it cut its chunks. When all have, no chunk needs to be told any
    /// more.
    pub fn settle_cut(&mut self, file: FileId) {
        self.state.update_inode(file, |inode| {
            inode.cuts_pending = inode.cuts_pending.saturating_sub(1);
            if inode.cuts_pending == 0 {
                inode.truncations.steps.clear();
            }
        });
    }

    /// Makes a hole in `from..to` of a file, in the chunks of this server from number `first` on.
    pub fn punch_chunks(&mut self, file: FileId, first: u64, range: (u64, u64), chunk_bytes: u32) {
        let width = u64::from(chunk_bytes.max(1));
        let (from, to) = range;
        let chunks: Vec<ChunkId> = self
            .chunks_here(file, first.max(from / width))
            .take_while(|chunk| chunk.index * width < to)
            .collect();
        for chunk in chunks {
            let start = chunk.index * width;
            let low = from.saturating_sub(start).min(width) as u32;
            let high = (to - start).min(width) as u32;
            self.state.change_data(DataChange::Punch {
                chunk,
                from: low,
                to: high,
            });
        }
    }
}
