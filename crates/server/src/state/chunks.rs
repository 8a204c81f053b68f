//! The data of files, chunk by chunk, and the effects of truncations on chunks.

use crate::builder::DecisionBuilder;
use crate::completion::Checked;
use alloc::vec::Vec;
use core::ops::Range;
use futago_base::{
    ChunkId, DataChange, FileId, Key, Payload, Value, View,
    record::{Truncation, Truncations},
};
use futago_wire::Failure;

impl<V: View> DecisionBuilder<'_, V> {
    /// Admits a change of chunks of a file by a client that knows of `truncations`. If the chunks
    /// have missed one of those, they are cut first. Errors: `NotAdmitted` if the home has not
    /// admitted the file here. `Changed` if the chunks know a later truncation, so that the client
    /// must ask the home again.
    pub fn admit_change(
        &mut self,
        file: FileId,
        chunk_bytes: u32,
        truncations: &Truncations,
    ) -> Checked<()> {
        let heard = self.heard_if_admitted(file)?;
        if truncations.latest < heard {
            return Err(Failure::Changed.into());
        }
        self.catch_up(file, chunk_bytes, heard, truncations);
        Ok(())
    }

    /// The home admits chunks of a file here, and reports the truncations that they need not apply.
    pub fn admit_file(&mut self, file: FileId, heard: u64) {
        self.state.put(Key::Admitted(file), heard);
    }

    /// The latest truncation that the chunks of a file on this server have applied; `None` if
    /// chunks of the file are not admitted here.
    pub fn heard(&self, file: FileId) -> Option<u64> {
        if self.is_at_home(file) {
            return self.state.inode(file).map(|inode| inode.truncations.latest);
        }
        let admitted = self.state.get(&Key::Admitted(file));
        admitted.and_then(Value::number).copied()
    }

    /// Like [`DecisionBuilder::heard`], for a file that must be admitted here. Errors:
    /// `NotAdmitted`, for instance after this server has lost its store.
    pub fn heard_if_admitted(&self, file: FileId) -> Checked<u64> {
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

    /// Applies a truncation to the chunks of a file on this server, unless they have applied it
    /// already.
    pub fn apply_truncation(&mut self, file: FileId, chunk_bytes: u32, truncation: Truncation) {
        let truncations = Truncations {
            latest: truncation.sequence,
            steps: alloc::vec![truncation],
        };
        match self.heard(file) {
            Some(heard) => self.catch_up(file, chunk_bytes, heard, &truncations),
            // Chunks that this server has lost do not matter any more, because the truncation
            // removes them.
            None if truncation.size <= chunk_bytes.into() => {
                self.admit_file(file, truncation.sequence);
            }
            None => {}
        }
    }

    /// Removes the data of a file beyond `size` from this server.
    pub fn cut_chunks(&mut self, file: FileId, chunk_bytes: u32, size: u64) {
        let width = u64::from(chunk_bytes.max(1));
        let chunks: Vec<ChunkId> = self.chunks_here(file, size / width).collect();
        for chunk in chunks {
            let start = chunk.start(chunk_bytes);
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

    /// Writes data into a chunk.
    pub fn write_chunk(&mut self, chunk: ChunkId, offset: u32, payload: Payload) {
        self.state.put(Key::Chunk(chunk), ());
        self.state.write_data(chunk, offset, payload);
    }

    /// The end of the valid part of a chunk, in bytes from its start, for a client that knows of
    /// `truncations`. `chunk_start` is the offset of the chunk in the file.
    pub fn valid_end(&self, chunk: ChunkId, chunk_start: u64, truncations: &Truncations) -> u32 {
        let limit = self
            .heard(chunk.file)
            .and_then(|heard| truncations.limit_since(heard));
        limit.map_or(u32::MAX, |limit| {
            limit.saturating_sub(chunk_start).min(u64::from(u32::MAX)) as u32
        })
    }

    /// The bytes `from..to` of a chunk, with zeros for holes and for bytes at or after `valid`.
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

    /// The chunks of a file on this server, from number `first` on.
    pub fn chunks_here(&self, file: FileId, first: u64) -> impl Iterator<Item = ChunkId> {
        let (from, to) = Key::chunks(file, first);
        self.state.range(from, to).filter_map(|(key, _)| match key {
            Key::Chunk(chunk) => Some(*chunk),
            _ => None,
        })
    }

    /// The amount of data of a file below `size` on this server, in bytes, for a client that knows
    /// of `truncations`.
    pub fn data_bytes(
        &self,
        file: FileId,
        size: u64,
        chunk_bytes: u32,
        truncations: &Truncations,
    ) -> u64 {
        let width = u64::from(chunk_bytes);
        let in_chunk = |chunk: ChunkId| {
            let start = chunk.start(chunk_bytes);
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

    /// Removes all chunks of a file from this server, which admits no more of them.
    pub fn remove_chunks(&mut self, file: FileId) {
        let chunks: Vec<ChunkId> = self.chunks_here(file, 0).collect();
        for chunk in chunks {
            self.remove_chunk(chunk);
        }
        self.state.delete(Key::Admitted(file));
    }

    /// Punches a hole into `from..to` of a file, in the chunks of this server.
    pub fn punch_chunks(&mut self, file: FileId, range: Range<u64>, chunk_bytes: u32) {
        let width = u64::from(chunk_bytes.max(1));
        let chunks: Vec<ChunkId> = self
            .chunks_here(file, range.start / width)
            .take_while(|chunk| chunk.start(chunk_bytes) < range.end)
            .collect();
        for chunk in chunks {
            let start = chunk.start(chunk_bytes);
            let low = range.start.saturating_sub(start).min(width) as u32;
            let high = (range.end - start).min(width) as u32;
            self.state.change_data(DataChange::Punch {
                chunk,
                from: low,
                to: high,
            });
        }
    }
}
