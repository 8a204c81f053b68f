//! The memory of a ring, as the ring sees it.

use super::lines;
use bytes::buf::UninitSlice;
use std::{
    fmt,
    mem::MaybeUninit,
    ops::Deref,
    sync::atomic::{AtomicU64, Ordering, fence},
};

/// The words that the two ends of a ring share beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// How many bytes the writer has put in, ever.
    Written,
    /// By how many bytes the writer has gone back in all, each time that the ring was empty.
    Back,
    /// How many bytes the reader has taken out, ever.
    Read,
    /// Not 0: the reader sleeps until there are bytes.
    ReaderSleeps,
    /// Not 0: the writer sleeps until there is room.
    WriterSleeps,
}

/// Memory that the other end of a ring may change at any time, in any way. Rings are generic over it,
/// so that they run in checkers of memory models too.
pub trait Memory {
    /// How many bytes are under way at most.
    fn capacity(&self) -> usize;
    /// Reads a word; what its writer did before it wrote the word is visible afterwards.
    fn load(&self, word: Word) -> u64;
    /// Writes a word; who reads it sees what was done before.
    fn store(&self, word: Word, value: u64);
    /// Sets a word to 0 and returns what it was, in one step.
    fn take(&self, word: Word) -> u64;
    /// Orders what was written before it against what is read after it, among all ends that do so.
    fn fence(&self);
    /// Puts bytes at a place. The caller keeps within the capacity.
    fn copy_in(&self, place: usize, from: &[u8]);
    /// Takes as many bytes from a place as fit. The caller keeps within the capacity.
    fn copy_out(&self, place: usize, into: &mut UninitSlice);
}

/// Bytes of one word of memory.
pub(super) const WORD_BYTES: usize = size_of::<AtomicU64>();
/// How far words of different ends lie apart, in words: two cache lines, because lines are fetched in pairs.
const STRIDE: usize = 16;
/// The words before a ring's bytes: one page, so that the bytes begin with one.
pub const CONTROL_WORDS: usize = 512;

/// A ring's memory in words that threads or processes share.
///
/// Bytes too are moved by relaxed accesses to whole aligned words, or many of them by instructions of their own
/// (`lines`), so that a hostile other end can make nothing worse of them than other bytes.
pub struct Words<W>(W);

impl<W: Deref<Target = [AtomicU64]>> Words<W> {
    /// A ring in these words: [`CONTROL_WORDS`], then the bytes; none if there are no bytes.
    pub fn new(words: W) -> Option<Self> {
        let data = words.len().checked_sub(CONTROL_WORDS)?;
        (data > 0).then_some(Self(words))
    }

    fn word(&self, word: Word) -> &AtomicU64 {
        let place = match word {
            Word::Written => 0,
            // Who reads the one reads the other: they share a line.
            Word::Back => 1,
            Word::Read => STRIDE,
            Word::ReaderSleeps => 2 * STRIDE,
            Word::WriterSleeps => 3 * STRIDE,
        };
        &self.0[place]
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

    fn copy_in(&self, place: usize, from: &[u8]) {
        let (head, whole) = from.split_at(bytes_to_boundary(place).min(from.len()));
        merge(&self.data()[place / WORD_BYTES..], place % WORD_BYTES, head);
        let words = &self.data()[place.div_ceil(WORD_BYTES)..];
        let (groups, tail) = whole.as_chunks();
        let (words, rest) = words.split_at(groups.len());
        let lines = lines::copy_in(groups, words);
        for (word, bytes) in words.iter().zip(groups).skip(lines) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        merge(rest, 0, tail);
    }

    fn copy_out(&self, place: usize, into: &mut UninitSlice) {
        // SAFETY: nothing but bytes that have been read is written to it.
        let into = unsafe { into.as_uninit_slice_mut() };
        let (head, whole) = into.split_at_mut(bytes_to_boundary(place).min(into.len()));
        extract(&self.data()[place / WORD_BYTES..], place % WORD_BYTES, head);
        let words = &self.data()[place.div_ceil(WORD_BYTES)..];
        let (groups, tail) = whole.as_chunks_mut();
        let (words, rest) = words.split_at(groups.len());
        let lines = lines::copy_out(words, groups);
        for (word, bytes) in words.iter().zip(groups).skip(lines) {
            *bytes = loaded(word);
        }
        extract(rest, 0, tail);
    }
}

/// How many bytes there are from a place to the next word.
const fn bytes_to_boundary(place: usize) -> usize {
    place.next_multiple_of(WORD_BYTES) - place
}

/// Puts bytes into the first word. The other bytes of it are not the reader's yet, or the writer's
/// own, so nobody else writes it meanwhile.
fn merge(words: &[AtomicU64], at: usize, from: &[u8]) {
    let (false, Some(word)) = (from.is_empty(), words.first()) else {
        return;
    };
    let mut bytes = word.load(Ordering::Relaxed).to_ne_bytes();
    bytes[at..at + from.len()].copy_from_slice(from);
    word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
}

/// Takes bytes from the first word.
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
