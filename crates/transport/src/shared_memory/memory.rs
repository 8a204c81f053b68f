//! The memory of a ring.

use super::lines;
use bytes::buf::UninitSlice;
use std::{
    fmt,
    mem::MaybeUninit,
    ops::Deref,
    sync::atomic::{AtomicU64, Ordering, fence},
};

/// The words that both ends of a ring share beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The total number of bytes that the writer has put in.
    Written,
    /// The total number of bytes by which the writer has rewound, each time that the ring was
    /// empty.
    Rewound,
    /// The total number of bytes that the reader has taken out.
    Read,
    /// Not 0 while the reader is blocked until there are bytes.
    ReaderBlocked,
    /// Not 0 while the writer is blocked until there is room.
    WriterBlocked,
}

/// Memory that the other end of a ring may change at any time, in any way. Rings are generic over
/// it, so that they also run in checkers of memory models.
pub trait Memory {
    /// The most bytes in flight.
    fn capacity(&self) -> usize;
    /// Loads a word with acquire ordering.
    fn load(&self, word: Word) -> u64;
    /// Stores a word with release ordering.
    fn store(&self, word: Word, value: u64);
    /// Atomically sets a word to 0 and returns its previous value.
    fn take(&self, word: Word) -> u64;
    /// A sequentially consistent fence.
    fn fence(&self);
    /// Copies bytes to an offset. The caller stays within the capacity.
    fn copy_in(&self, offset: usize, from: &[u8]);
    /// Fills `into` with bytes from an offset. The caller stays within the capacity.
    fn copy_out(&self, offset: usize, into: &mut UninitSlice);
}

/// Bytes of one word of memory.
pub(super) const WORD_BYTES: usize = size_of::<AtomicU64>();
/// The distance between words of different ends, in words: two cache lines, because the CPU
/// prefetches lines in pairs.
const STRIDE: usize = 16;
/// The words before a ring's bytes: one page, so that the bytes are page-aligned.
pub const CONTROL_WORDS: usize = 512;

/// A ring's memory in words that threads or processes share.
///
/// Bytes are moved by relaxed accesses to whole aligned words, or line by line (`lines`). So a
/// hostile peer can only change bytes, and cannot cause undefined behaviour.
pub struct Words<W>(W);

impl<W: Deref<Target = [AtomicU64]>> Words<W> {
    /// A ring in these words: [`CONTROL_WORDS`], then the bytes. `None` if there are no bytes.
    pub fn new(words: W) -> Option<Self> {
        let data = words.len().checked_sub(CONTROL_WORDS)?;
        (data > 0).then_some(Self(words))
    }

    fn word(&self, word: Word) -> &AtomicU64 {
        let offset = match word {
            Word::Written => 0,
            // The reader loads both words together, so they share a line.
            Word::Rewound => 1,
            Word::Read => STRIDE,
            Word::ReaderBlocked => 2 * STRIDE,
            Word::WriterBlocked => 3 * STRIDE,
        };
        &self.0[offset]
    }

    fn data(&self) -> &[AtomicU64] {
        &self.0[CONTROL_WORDS..]
    }
}

impl<W> fmt::Debug for Words<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Words")
    }
}

impl<W: Deref<Target = [AtomicU64]>> Memory for Words<W> {
    fn capacity(&self) -> usize {
        self.data().len() * WORD_BYTES
    }

    fn load(&self, word: Word) -> u64 {
        self.word(word).load(Ordering::Acquire)
    }

    fn store(&self, word: Word, value: u64) {
        self.word(word).store(value, Ordering::Release);
    }

    fn take(&self, word: Word) -> u64 {
        self.word(word).swap(0, Ordering::AcqRel)
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    fn copy_in(&self, offset: usize, from: &[u8]) {
        let (head, whole) = from.split_at(bytes_to_boundary(offset).min(from.len()));
        merge(
            &self.data()[offset / WORD_BYTES..],
            offset % WORD_BYTES,
            head,
        );
        let words = &self.data()[offset.div_ceil(WORD_BYTES)..];
        let (groups, tail) = whole.as_chunks();
        let (words, rest) = words.split_at(groups.len());
        let lines = lines::copy_in(groups, words);
        for (word, bytes) in words.iter().zip(groups).skip(lines) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        merge(rest, 0, tail);
    }

    fn copy_out(&self, offset: usize, into: &mut UninitSlice) {
        // SAFETY: only initialized bytes are written to it.
        let into = unsafe { into.as_uninit_slice_mut() };
        let (head, whole) = into.split_at_mut(bytes_to_boundary(offset).min(into.len()));
        extract(
            &self.data()[offset / WORD_BYTES..],
            offset % WORD_BYTES,
            head,
        );
        let words = &self.data()[offset.div_ceil(WORD_BYTES)..];
        let (groups, tail) = whole.as_chunks_mut();
        let (words, rest) = words.split_at(groups.len());
        let lines = lines::copy_out(words, groups);
        for (word, bytes) in words.iter().zip(groups).skip(lines) {
            *bytes = loaded(word);
        }
        extract(rest, 0, tail);
    }
}

/// The bytes from an offset to the next word.
const fn bytes_to_boundary(offset: usize) -> usize {
    offset.next_multiple_of(WORD_BYTES) - offset
}

/// Stores bytes into the first word. Its other bytes belong to the writer or are not yet published,
/// so that no other thread writes it meanwhile.
fn merge(words: &[AtomicU64], at: usize, from: &[u8]) {
    let (false, Some(word)) = (from.is_empty(), words.first()) else {
        return;
    };
    let mut bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    bytes[at..at + from.len()].copy_from_slice(from);
    word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
}

/// Loads bytes from the first word.
fn extract(words: &[AtomicU64], at: usize, into: &mut [MaybeUninit<u8>]) {
    if let (false, Some(word)) = (into.is_empty(), words.first()) {
        into.copy_from_slice(&loaded(word)[at..at + into.len()]);
    }
}

/// The bytes of a word.
fn loaded(word: &AtomicU64) -> [MaybeUninit<u8>; WORD_BYTES] {
    let bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    bytes.map(MaybeUninit::new)
}
