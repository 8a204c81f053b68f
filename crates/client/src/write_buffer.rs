//! The write-back buffer: data written under exclusive leases that is not on the servers yet.

use crate::layout::Piece;
use alloc::vec::Vec;
use futago_base::{
    Errno, FileId, Payload, Timestamp,
    reversible::{Changes, ReversibleMap},
};
use serde::Serialize;

/// Adjacent pieces are written back as one, up to a piece that begins at a multiple of this, in
/// bytes. Pieces that begin elsewhere make one run of any length.
const RUN_BYTES: u64 = 1 << 20;

/// A file with dirty data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DirtyFile {
    /// The size in bytes, including dirty data.
    pub size: u64,
    /// The time of the last write.
    pub written: Timestamp,
    /// Whether the set-user-id bits are cleared.
    pub kill_privileges: bool,
    /// The amount of dirty data, in bytes.
    pub bytes: u64,
}

/// Pieces of dirty data that never overlap, with the other effects of their writes.
#[derive(Debug, Serialize)]
pub struct WriteBuffer {
    pieces: ReversibleMap<(FileId, u64), Payload>,
    files: ReversibleMap<FileId, DirtyFile>,
    /// The reason of a lost write that has not been reported to the writer.
    lost: ReversibleMap<FileId, Errno>,
    /// Whether nothing is buffered any more. No simulation sets it.
    #[serde(skip)]
    is_closed: bool,
}

/// The changes of [`WriteBuffer`] to undo.
#[derive(Debug)]
pub struct WriteBufferUndo {
    pieces: Changes<(FileId, u64), Payload>,
    files: Changes<FileId, DirtyFile>,
    lost: Changes<FileId, Errno>,
}

impl WriteBuffer {
    pub const fn new() -> Self {
        Self {
            pieces: ReversibleMap::new(),
            files: ReversibleMap::new(),
            lost: ReversibleMap::new(),
            is_closed: false,
        }
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.pieces.record_changes();
        self.files.record_changes();
        self.lost.record_changes();
    }

    /// The changes since the last call, if they are recorded.
    pub fn take_changes(&mut self) -> WriteBufferUndo {
        WriteBufferUndo {
            pieces: self.pieces.take_changes(),
            files: self.files.take_changes(),
            lost: self.lost.take_changes(),
        }
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: WriteBufferUndo) {
        self.pieces.take_back(undo.pieces);
        self.files.take_back(undo.files);
        self.lost.take_back(undo.lost);
    }

    /// The file, if it has dirty data.
    pub fn file(&self, id: FileId) -> Option<DirtyFile> {
        self.files.get(&id).copied()
    }

    /// The files with dirty data.
    pub fn files(&self) -> Vec<FileId> {
        self.files.iter().map(|(&id, _)| id).collect()
    }

    /// The dirty data of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, file)| file.bytes).sum()
    }

    /// Adds a piece to a file that has `size` bytes without it. Returns the size with it.
    pub fn put(
        &mut self,
        id: FileId,
        offset: u64,
        data: Payload,
        size: u64,
        written: Timestamp,
        kill_privileges: bool,
    ) -> u64 {
        let length = data.len() as u64;
        let replaced = self.cut_out(id, offset, offset + length);
        self.pieces.insert((id, offset), data);
        let file = self.files.get_or_insert_with(id, || DirtyFile {
            size,
            written,
            kill_privileges,
            bytes: 0,
        });
        file.size = file.size.max(offset + length);
        file.written = written;
        file.kill_privileges |= kill_privileges;
        file.bytes = file.bytes + length - replaced;
        file.size
    }

    /// Removes a range from the pieces of a file. Returns how many bytes were removed.
    fn cut_out(&mut self, id: FileId, from: u64, to: u64) -> u64 {
        let mut taken = 0;
        for (at, piece) in self.pieces_over(id, from, to) {
            let end = at + piece.len() as u64;
            self.pieces.remove(&(id, at));
            if at < from {
                let before = piece.slice(0, (from - at) as usize);
                self.pieces.insert((id, at), before);
            }
            if end > to {
                let after = piece.slice((to - at) as usize, piece.len());
                self.pieces.insert((id, to), after);
            }
            taken += end.min(to) - at.max(from);
        }
        taken
    }

    /// The pieces that overlap a range, in order.
    fn pieces_over(&self, id: FileId, from: u64, to: u64) -> Vec<Piece> {
        let before = self.pieces.range((id, 0)..(id, from)).next_back();
        let before = before.filter(|((_, at), piece)| at + piece.len() as u64 > from);
        let within = self.pieces.range((id, from)..(id, to));
        let over = before.into_iter().chain(within);
        over.map(|(&(_, at), piece)| (at, piece.clone())).collect()
    }

    /// The parts of the pieces within a range.
    fn parts(&self, id: FileId, from: u64, to: u64) -> Vec<Piece> {
        let pieces = self.pieces_over(id, from, to).into_iter();
        let part = |(at, piece): Piece| {
            let end = to.min(at + piece.len() as u64);
            let begin = from.max(at);
            (
                begin,
                piece.slice((begin - at) as usize, (end - at) as usize),
            )
        };
        pieces.map(part).collect()
    }

    /// The bytes of a range, if all of it is dirty.
    pub fn read(&self, id: FileId, from: u64, to: u64) -> Option<Payload> {
        let parts = self.parts(id, from, to);
        let length: usize = parts.iter().map(|(_, part)| part.len()).sum();
        let whole = (to - from) as usize;
        (length == whole).then(|| gather(from, whole, parts))
    }

    /// Overlays the dirty data on data that was read at an offset, up to `to` or the end of the
    /// file.
    pub fn overlay(&self, id: FileId, from: u64, to: u64, read: Payload) -> Payload {
        let Some(file) = self.file(id) else {
            return read;
        };
        let read_end = from + read.len() as u64;
        let end = file.size.min(to).max(read_end);
        let mut layers = Vec::new();
        let mut at = from;
        for (begin, part) in self.parts(id, from, to) {
            let part_end = begin + part.len() as u64;
            if at < begin.min(read_end) {
                layers.push((at, between(&read, from, at, begin.min(read_end))));
            }
            layers.push((begin, part));
            at = part_end;
        }
        if at < read_end {
            layers.push((at, between(&read, from, at, read_end)));
        }
        gather(from, (end - from) as usize, layers)
    }

    /// All dirty data of a file, in runs that are written back as one piece each.
    pub fn runs(&self, id: FileId) -> Vec<Piece> {
        let mut runs: Vec<(u64, Vec<Piece>)> = Vec::new();
        let mut end = None;
        for (at, piece) in self.parts(id, 0, u64::MAX) {
            match runs.last_mut() {
                Some((_, run)) if end == Some(at) && at % RUN_BYTES != 0 => {
                    run.push((at, piece.clone()))
                }
                _ => runs.push((at, Vec::from([(at, piece.clone())]))),
            }
            end = Some(at + piece.len() as u64);
        }
        let whole = |(at, run): (u64, Vec<Piece>)| {
            let length = run.iter().map(|(_, piece)| piece.len()).sum();
            (at, gather(at, length, run))
        };
        runs.into_iter().map(whole).collect()
    }

    /// Removes the dirty data of a file, which was written back or is lost. Returns the file if it
    /// had any.
    pub fn remove(&mut self, id: FileId) -> Option<DirtyFile> {
        for (at, _) in self.pieces_over(id, 0, u64::MAX) {
            self.pieces.remove(&(id, at));
        }
        self.files.remove(&id)
    }

    /// Loses the dirty data of a file.
    pub fn lose(&mut self, id: FileId, why: Errno) {
        self.remove(id);
        self.lost.get_or_insert_with(id, || why);
    }

    /// Loses all dirty data.
    pub fn lose_all(&mut self, why: Errno) {
        for id in self.files() {
            self.lose(id, why);
        }
    }

    /// The reason of a lost write of a file, if it has not been reported.
    pub fn take_lost(&mut self, id: FileId) -> Option<Errno> {
        self.lost.remove(&id)
    }

    /// The files of which a write is lost, and why.
    pub fn lost(&self) -> Vec<(FileId, Errno)> {
        self.lost.iter().map(|(&id, &why)| (id, why)).collect()
    }

    /// Buffers nothing from now on.
    pub const fn close(&mut self) {
        self.is_closed = true;
    }

    /// Whether a write to a file may be buffered. After a loss it may not until the loss is
    /// reported, so that a further write fails at once if it must.
    pub fn accepts(&self, id: FileId) -> bool {
        !self.is_closed && self.lost.get(&id).is_none()
    }
}

/// A part of the data that was read at `from`.
fn between(read: &Payload, from: u64, begin: u64, end: u64) -> Payload {
    read.slice((begin - from) as usize, (end - from) as usize)
}

/// Joins pieces, with zeros in the gaps.
fn gather(from: u64, length: usize, pieces: Vec<Piece>) -> Payload {
    let pieces = pieces.into_iter();
    let placed: Vec<(usize, Payload)> = pieces
        .map(|(at, piece)| ((at - from) as usize, piece))
        .collect();
    Payload::gather(length, &placed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use bytes::Bytes;
    use proptest::prelude::*;

    const FILE: FileId = FileId(5);
    const LENGTH: usize = 64;

    /// Pieces at offsets, each of one repeated byte.
    fn pieces() -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
        let piece = (0..LENGTH, 1..16_usize, 1..=u8::MAX);
        let within = |(at, length, byte): (usize, usize, u8)| (at, length.min(LENGTH - at), byte);
        proptest::collection::vec(piece.prop_map(within), 0..12)
    }

    fn fill(byte: u8, length: usize) -> Payload {
        Payload::from(Bytes::from(vec![byte; length]))
    }

    /// A buffer with these pieces, and the expected bytes.
    fn put(pieces: &[(usize, usize, u8)]) -> (WriteBuffer, Vec<Option<u8>>) {
        let (mut write_buffer, mut bytes) = (WriteBuffer::new(), vec![None; LENGTH]);
        for &(at, length, byte) in pieces {
            let (data, written) = (fill(byte, length), Timestamp::default());
            write_buffer.put(FILE, at as u64, data, 0, written, false);
            bytes[at..at + length].fill(Some(byte));
        }
        (write_buffer, bytes)
    }

    proptest! {
        #[test]
        fn dirty_data_is_the_last_data_put(
            pieces in pieces(),
            (from, length) in (0..LENGTH, 0..LENGTH),
            read in 0..LENGTH,
        ) {
            let (write_buffer, bytes) = put(&pieces);
            let known = |range: &[Option<u8>]| range.iter().copied().collect::<Option<Vec<u8>>>();
            let to = (from + length).min(LENGTH);
            let seen = write_buffer.read(FILE, from as u64, to as u64);
            prop_assert_eq!(seen.map(|data| data.bytes().to_vec()), known(&bytes[from..to]));
            let count = bytes.iter().flatten().count() as u64;
            prop_assert_eq!(write_buffer.bytes(), count);

            // The runs contain all dirty data.
            let mut sent = vec![None; LENGTH];
            for (at, run) in write_buffer.runs(FILE) {
                for (index, &byte) in run.bytes().iter().enumerate() {
                    sent[at as usize + index] = Some(byte);
                }
            }
            prop_assert_eq!(&sent, &bytes);

            // The home has zeros up to `read`.
            let size = bytes.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            let end = read.max(size).min(to).max(from.min(read));
            let below = fill(0, read.min(to).saturating_sub(from));
            let over = write_buffer.overlay(FILE, from as u64, to as u64, below);
            let expected: Vec<u8> = (from..end.max(from)).map(|at| bytes[at].unwrap_or(0)).collect();
            prop_assert_eq!(over.bytes().to_vec(), expected);
        }
    }

    #[test]
    fn a_lost_write_is_reported_once() {
        let (mut write_buffer, _) = put(&[(1, 2, 3)]);
        write_buffer.lose(FILE, Errno::ENOSPC);
        write_buffer.lose(FILE, Errno::EIO);
        assert_eq!((write_buffer.bytes(), write_buffer.file(FILE)), (0, None));
        assert_eq!(write_buffer.take_lost(FILE), Some(Errno::ENOSPC));
        assert_eq!(write_buffer.take_lost(FILE), None);
    }

    #[test]
    fn changes_are_taken_back() {
        let (mut write_buffer, _) = put(&[(1, 8, 3)]);
        write_buffer.record_changes();
        let before = alloc::format!("{write_buffer:?}");
        write_buffer.put(FILE, 4, fill(9, 2), 0, Timestamp::default(), true);
        write_buffer.lose(FILE, Errno::EIO);
        let changes = write_buffer.take_changes();
        write_buffer.take_back(changes);
        assert_eq!(alloc::format!("{write_buffer:?}"), before);
    }
}
