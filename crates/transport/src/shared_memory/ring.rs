//! One direction of a connection: bytes from one writer to one reader, in order.
//!
//! Positions count bytes and never turn back; the place of a byte is its position modulo the capacity, less what the
//! writer has gone back: when all has been taken out, it uses the places of small messages again, so that few bytes
//! under way take few lines of the caches, however long the ring is. Each end keeps its own position for itself and
//! only tells it: what it reads of the other end it uses once, after it has checked it. So the worst that a hostile end
//! can do is to send other bytes, which the frames above take for what they are.
//!
//! Who wants to sleep says so, and then looks once more; who has made a change looks whether the
//! other sleeps. Between the two steps each end passes a sequentially consistent fence, so that at
//! least one of them sees the other (Dekker's algorithm: Dijkstra, EWD 123, 1965).

use super::memory::{Memory, Word};
use bytes::buf::UninitSlice;
use std::ops::Range;

/// A position that no honest end tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the peer says it is at byte {told} of the shared memory, which cannot be: this end is at {own}"
)]
pub struct Violation {
    own: u64,
    told: u64,
}

/// How much the other end is told of at a time: enough to be worth it, and little enough to be in the caches
/// still when a reader takes it out.
const TOLD_BYTES_MAX: usize = 64 << 10;

/// The end that puts bytes in.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    written: u64,
    /// By how much places are behind positions.
    back: u64,
    /// What it had put in when it last found the ring empty.
    returned: u64,
}

/// The end that takes bytes out.
#[derive(Debug)]
pub struct Reader<M> {
    memory: M,
    read: u64,
    /// By how much places are behind positions.
    back: u64,
}

impl<M: Memory> Writer<M> {
    /// The writing end of a ring that has not been used.
    pub const fn new(memory: M) -> Self {
        Self {
            memory,
            written: 0,
            back: 0,
            returned: 0,
        }
    }

    /// How many bytes can be put in now.
    ///
    /// # Errors
    /// The reader tells nonsense.
    pub fn room(&self) -> Result<usize, Violation> {
        let read = self.memory.load(Word::Read);
        let unread = self.written.wrapping_sub(read);
        let room = (self.memory.capacity() as u64).checked_sub(unread);
        room.map(|room| room as usize).ok_or(Violation {
            own: self.written,
            told: read,
        })
    }

    /// Puts in as much of the pieces as there is room for, and returns how many bytes that was. Much is told
    /// to the reader part by part, so that it takes out the first while this end puts in the next.
    ///
    /// # Errors
    /// As [`Writer::room`].
    pub fn write<'a>(
        &mut self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<usize, Violation> {
        let before = self.written;
        if self.room()? == self.memory.capacity() {
            self.go_back();
        }
        'pieces: for piece in pieces {
            for part in piece.chunks(TOLD_BYTES_MAX) {
                let fits = part.len().min(self.room()?);
                self.put(&part[..fits]);
                if fits < part.len() {
                    break 'pieces;
                }
                if fits == TOLD_BYTES_MAX {
                    self.tell();
                }
            }
        }
        self.tell();
        Ok(self.written.wrapping_sub(before) as usize)
    }

    /// Small messages come to the same places again, whose lines the caches still hold. Large ones do not: that would halve their speed. The ring is
    /// empty, so the reader looks for no byte before it is told of the next one, and learns of this first.
    fn go_back(&mut self) {
        let since = self.written.wrapping_sub(self.returned);
        if since < TOLD_BYTES_MAX as u64 {
            self.back = self.back.wrapping_add(since);
            self.memory.store(Word::Back, self.back);
        }
        self.returned = self.written;
    }

    /// Tells the reader of all that is in.
    fn tell(&self) {
        self.memory.store(Word::Written, self.written);
    }

    /// Puts in bytes that there is room for.
    fn put(&mut self, bytes: &[u8]) {
        for (place, range) in parts(
            self.memory.capacity(),
            self.written.wrapping_sub(self.back),
            bytes.len(),
        ) {
            self.memory.copy_in(place, &bytes[range]);
        }
        self.written = self.written.wrapping_add(bytes.len() as u64);
    }

    /// Whether the reader must be woken, after bytes were put in. Asks once a sleep.
    pub fn must_wake(&self) -> bool {
        must_wake(&self.memory, Word::ReaderSleeps)
    }

    /// Says that this end goes to sleep until there is room; false if there is some, so that it must
    /// not.
    ///
    /// # Errors
    /// As [`Writer::room`].
    pub fn may_sleep(&self) -> Result<bool, Violation> {
        self.memory.store(Word::WriterSleeps, 1);
        self.memory.fence();
        Ok(self.room()? == 0)
    }
}

impl<M: Memory> Reader<M> {
    /// The reading end of a ring that has not been used.
    pub const fn new(memory: M) -> Self {
        Self {
            memory,
            read: 0,
            back: 0,
        }
    }

    /// How many bytes can be taken out now.
    ///
    /// # Errors
    /// The writer tells nonsense.
    pub fn available(&self) -> Result<usize, Violation> {
        let written = self.memory.load(Word::Written);
        let available = written.wrapping_sub(self.read);
        let possible = available <= self.memory.capacity() as u64;
        possible.then_some(available as usize).ok_or(Violation {
            own: self.read,
            told: written,
        })
    }

    /// Takes out as much as there is and fits, and returns how many bytes that was: they are the first of `into`.
    /// The writer is told part by part, so that it puts in more meanwhile.
    ///
    /// # Errors
    /// As [`Reader::available`].
    pub fn read<'a>(&mut self, into: impl Into<&'a mut UninitSlice>) -> Result<usize, Violation> {
        let into = into.into();
        let count = self.available()?.min(into.len());
        // It does not change before all of these are taken out.
        self.back = self.memory.load(Word::Back);
        let mut taken = 0;
        while taken < count {
            let part = taken..count.min(taken + TOLD_BYTES_MAX);
            taken = part.end;
            self.take(&mut into[part]);
        }
        Ok(count)
    }

    /// Takes out bytes that there are, and tells the writer.
    fn take(&mut self, into: &mut UninitSlice) {
        for (place, range) in parts(
            self.memory.capacity(),
            self.read.wrapping_sub(self.back),
            into.len(),
        ) {
            self.memory.copy_out(place, &mut into[range]);
        }
        self.read = self.read.wrapping_add(into.len() as u64);
        self.memory.store(Word::Read, self.read);
    }

    /// Whether the writer must be woken, after bytes were taken out. Asks once a sleep.
    pub fn must_wake(&self) -> bool {
        must_wake(&self.memory, Word::WriterSleeps)
    }

    /// Says that this end goes to sleep until there are bytes; false if there are some, so that it
    /// must not.
    ///
    /// # Errors
    /// As [`Reader::available`].
    pub fn may_sleep(&self) -> Result<bool, Violation> {
        self.memory.store(Word::ReaderSleeps, 1);
        self.memory.fence();
        Ok(self.available()? == 0)
    }

    /// Says that this end does not sleep any more, though it was not woken. It may be woken all the
    /// same.
    pub fn stay_awake(&self) {
        self.memory.store(Word::ReaderSleeps, 0);
    }
}

/// The places of `count` bytes from a distance to the first place on, and which of the bytes go there: two parts where the
/// ring ends between them. They are within the ring whatever the distance is.
fn parts(
    capacity: usize,
    distance: u64,
    count: usize,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let place = (distance % capacity as u64) as usize;
    let first = count.min(capacity - place);
    [(place, 0..first), (0, first..count)]
        .into_iter()
        .filter(|(_, range)| !range.is_empty())
}

fn must_wake(memory: &impl Memory, sleeps: Word) -> bool {
    memory.fence();
    memory.load(sleeps) != 0 && memory.take(sleeps) != 0
}
