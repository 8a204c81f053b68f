//! The data of files, chunk by chunk, and what truncations mean for chunks.

use crate::answer::Checked;
use crate::turn::Turn;
use alloc::vec::Vec;
use futago_base::{
    ChunkId, DataChange, FileId, Key, Payload, Value, View,
    record::{Truncation, Truncations},
};
use futago_wire::Failure;

impl<V: View> Turn<'_, V> {
    /// Lets somebody who knows of `truncations` change chunks of a file, which are cut first if
    /// they have missed one. Errors: `NotAdmitted` if the home has not told of the file, or not any
    /// more; `Changed` if the chunks have heard of a truncation that the caller does not know: it
    /// asks the home anew.
    pub fn admit_change(
        &mut self,
        file: FileId,
        chunk_bytes: u32,
        truncations: &Truncations,
    ) -> Checked<()> {
        let heard = self.heard_or_fail(file)?;
        if truncations.latest < heard {
            return Err(Failure::Changed.into());
        }
        self.catch_up(file, chunk_bytes, heard, truncations);
        Ok(())
    }

    /// The home tells that chunks of a file may come here, and which truncations they need not hear
    /// of any more.
    pub fn admit_file(&mut self, file: FileId, heard: u64) {
        self.state.put(Key::Admitted(file), heard);
    }

    /// The latest truncation that this server's chunks of a file have heard of; nothing if the file
    /// may not have chunks here.
    pub fn heard(&self, file: FileId) -> Option<u64> {
        if self.is_at_home(file) {
            return self.state.inode(file).map(|inode| inode.truncations.latest);
        }
        let admitted = self.state.get(&Key::Admitted(file));
        admitted.and_then(Value::number).copied()
    }

    /// As [`Turn::heard`] of a file of which this server must have heard, if it has not lost what
    /// it had.
    pub fn heard_or_fail(&self, file: FileId) -> Checked<u64> {
        self.heard(file).ok_or_else(|| Failure::NotAdmitted.into())
    }

    /// Cuts the chunks of a file that have missed truncations.
    fn catch_up(&mut self, file: FileId, chunk_bytes: u32, heard: u64, truncations: &Truncations) {
        if let Some(limit) = truncations.limit_since(heard)
            && !self.is_at_home(file)
        {
            self.cut_chunks(file, chunk_bytes, limit);
            self.admit_file(file, truncations.latest);
        }
    }

    /// Cuts this server's chunks of a file that has shrunk, unless they have heard of it.
    pub fn hear_of(&mut self, file: FileId, chunk_bytes: u32, truncation: Truncation) {
        let truncations = Truncations {
            latest: truncation.sequence,
            steps: alloc::vec![truncation],
        };
        match self.heard(file) {
            Some(heard) => self.catch_up(file, chunk_bytes, heard, &truncations),
            // What this server has lost of the file does not count any more.
            None if truncation.size <= chunk_bytes.into() => {
                self.admit_file(file, truncation.sequence);
            }
            None => {}
        }
    }

    /// Takes away what this server holds of a file beyond `size`.
    pub fn cut_chunks(&mut self, file: FileId, chunk_bytes: u32, size: u64) {
        let width = u64::from(chunk_bytes.max(1));
        let chunks: Vec<ChunkId> = self.chunks_here(file, size / width).collect();
        for chunk in chunks {
            let start = chunk.index * width;
            if start >= size {
                self.remove_chunk(chunk);
            } else {
                self.state.change_data(DataChange::Punch {
                    chunk,
                    from: (size - start) as u32,
                    to: u32::MAX,
                });
            }
        }
    }

    /// Puts data into a chunk.
    pub fn write_chunk(&mut self, chunk: ChunkId, offset: u32, payload: Payload) {
        self.state.put(Key::Chunk(chunk), ());
        self.state.write_data(chunk, offset, payload);
    }

    /// How much of a chunk still counts, in bytes from its start, for somebody who knows of
    /// `truncations`. `chunk_start` is its first byte within the file.
    pub fn valid_end(&self, chunk: ChunkId, chunk_start: u64, truncations: &Truncations) -> u32 {
        let limit = self
            .heard(chunk.file)
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
        let pieces = pieces.into_iter();
        let pieces: Vec<_> = pieces
            .map(|(start, piece)| ((start - from) as usize, piece))
            .collect();
        Payload::gather((to - from) as usize, &pieces)
    }

    /// The chunks of a file that this server holds, from number `first` on.
    pub fn chunks_here(&self, file: FileId, first: u64) -> impl Iterator<Item = ChunkId> {
        let (from, to) = Key::chunks(file, first);
        self.state.range(from, to).filter_map(|(key, _)| match key {
            Key::Chunk(chunk) => Some(*chunk),
            _ => None,
        })
    }

    /// How much data this server holds of a file below `size`, in bytes, for somebody who knows of
    /// `truncations`.
    pub fn data_bytes(
        &self,
        file: FileId,
        size: u64,
        chunk_bytes: u32,
        truncations: &Truncations,
    ) -> u64 {
        let width = u64::from(chunk_bytes);
        let in_chunk = |chunk: ChunkId| {
            let start = chunk.index.saturating_mul(width);
            let left = size.saturating_sub(start).min(width) as u32;
            let end = left.min(self.valid_end(chunk, start, truncations));
            Some(self.state.data(chunk)?.bytes_before(end))
        };
        self.chunks_here(file, 0).filter_map(in_chunk).sum()
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

    /// Removes all chunks of a file from this server, which takes no more of them.
    pub fn remove_chunks(&mut self, file: FileId) {
        let chunks: Vec<ChunkId> = self.chunks_here(file, 0).collect();
        for chunk in chunks {
            self.remove_chunk(chunk);
        }
        self.state.delete(Key::Admitted(file));
    }

    /// Makes a hole in `from..to` of a file, in the chunks of this server.
    pub fn punch_chunks(&mut self, file: FileId, range: (u64, u64), chunk_bytes: u32) {
        let width = u64::from(chunk_bytes.max(1));
        let (from, to) = range;
        let chunks: Vec<ChunkId> = self
            .chunks_here(file, from / width)
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
