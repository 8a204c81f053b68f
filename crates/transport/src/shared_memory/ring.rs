//! One direction of a connection: bytes from one writer to one reader, in order.
//!
//! Positions count bytes and never decrease. The offset of a byte is its position, less the bytes
//! that the writer has rewound, modulo the capacity. The writer rewinds when the ring is empty
//! after small messages. So small messages stay in the same cache lines, however long the ring is.
//!
//! Each end stores its own position privately and publishes copies of it. It loads the other end's
//! position once and verifies it before use. So a hostile end can only send wrong bytes, which the
//! frames above detect.
//!
//! An end that is about to block announces it, and then checks once more. An end that has made a
//! change checks whether the other end is blocked. Between the two steps each end passes a
//! sequentially consistent fence, so that at least one of them sees the other (Dekker's algorithm:
//! Dijkstra, EWD 123, 1965). So no wake-up is lost (invariant T1).

use super::memory::{Memory, Word};
use bytes::buf::UninitSlice;
use std::ops::Range;

/// A position that no honest end publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the peer says it is at byte {reported} of the shared memory, which cannot be: this end is at {own}"
)]
pub struct Violation {
    own: u64,
    reported: u64,
}

/// The most bytes that are published at a time: enough to amortize the cost, and few enough to stay
/// in the CPU caches until the reader copies them out.
const PUBLISH_BYTES_MAX: usize = 64 << 10;

/// The writing end.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    written: u64,
    /// The difference between positions and offsets.
    rewound: u64,
    /// The position at which the ring was last found empty.
    empty_at: u64,
}

/// The reading end.
#[derive(Debug)]
pub struct Reader<M> {
    memory: M,
    read: u64,
    /// The difference between positions and offsets.
    rewound: u64,
}

impl<M: Memory> Writer<M> {
    /// The writing end of an unused ring.
    pub const fn new(memory: M) -> Self {
        Self {
            memory,
            written: 0,
            rewound: 0,
            empty_at: 0,
        }
    }

    /// The number of bytes that can be written now.
    ///
    /// # Errors
    /// The reader's position is impossible.
    pub fn room(&self) -> Result<usize, Violation> {
        let read = self.memory.load(Word::Read);
        let unread = self.written.wrapping_sub(read);
        let room = (self.memory.capacity() as u64).checked_sub(unread);
        room.map(|room| room as usize).ok_or(Violation {
            own: self.written,
            reported: read,
        })
    }

    /// Writes as much of the pieces as there is room for, and returns the number of bytes. Large
    /// writes are published part by part, so that the reader copies out the first part while this
    /// end writes the next one.
    ///
    /// # Errors
    /// As [`Writer::room`].
    pub fn write<'a>(
        &mut self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<usize, Violation> {
        let before = self.written;
        if self.room()? == self.memory.capacity() {
            self.rewind();
        }
        'pieces: for piece in pieces {
            for part in piece.chunks(PUBLISH_BYTES_MAX) {
                let fits = part.len().min(self.room()?);
                self.put(&part[..fits]);
                if fits < part.len() {
                    break 'pieces;
                }
                if fits == PUBLISH_BYTES_MAX {
                    self.publish();
                }
            }
        }
        self.publish();
        Ok(self.written.wrapping_sub(before) as usize)
    }

    /// Lets small messages reuse the same offsets, whose cache lines are warm. Large messages are
    /// excluded, because reuse would halve their speed. The ring is empty, so the reader accesses
    /// no byte before it learns of the next one, and sees the new offset first.
    fn rewind(&mut self) {
        let since = self.written.wrapping_sub(self.empty_at);
        if since < PUBLISH_BYTES_MAX as u64 {
            self.rewound = self.rewound.wrapping_add(since);
            self.memory.store(Word::Rewound, self.rewound);
        }
        self.empty_at = self.written;
    }

    /// Publishes all written bytes.
    fn publish(&self) {
        self.memory.store(Word::Written, self.written);
    }

    /// Writes bytes that there is room for.
    fn put(&mut self, bytes: &[u8]) {
        for (offset, range) in parts(
            self.memory.capacity(),
            self.written.wrapping_sub(self.rewound),
            bytes.len(),
        ) {
            self.memory.copy_in(offset, &bytes[range]);
        }
        self.written = self.written.wrapping_add(bytes.len() as u64);
    }

    /// Whether the reader must be woken after a write. It returns true once per block of the
    /// reader.
    pub fn must_wake(&self) -> bool {
        must_wake(&self.memory, Word::ReaderBlocked)
    }

    /// Announces that this end blocks until there is room. Returns false if there is room, so that
    /// it must not block.
    ///
    /// # Errors
    /// As [`Writer::room`].
    pub fn prepare_to_block(&self) -> Result<bool, Violation> {
        self.memory.store(Word::WriterBlocked, 1);
        self.memory.fence();
        Ok(self.room()? == 0)
    }
}

impl<M: Memory> Reader<M> {
    /// The reading end of an unused ring.
    pub const fn new(memory: M) -> Self {
        Self {
            memory,
            read: 0,
            rewound: 0,
        }
    }

    /// The number of bytes that can be read now.
    ///
    /// # Errors
    /// The writer's position is impossible.
    pub fn available(&self) -> Result<usize, Violation> {
        let written = self.memory.load(Word::Written);
        let available = written.wrapping_sub(self.read);
        let possible = available <= self.memory.capacity() as u64;
        possible.then_some(available as usize).ok_or(Violation {
            own: self.read,
            reported: written,
        })
    }

    /// Reads the available bytes that fit to the front of `into`, and returns their number.
    /// Progress is published part by part, so that the writer can continue meanwhile.
    ///
    /// # Errors
    /// As [`Reader::available`].
    pub fn read<'a>(&mut self, into: impl Into<&'a mut UninitSlice>) -> Result<usize, Violation> {
        let into = into.into();
        let count = self.available()?.min(into.len());
        // The writer cannot rewind before all of these bytes are read.
        self.rewound = self.memory.load(Word::Rewound);
        let mut taken = 0;
        while taken < count {
            let part = taken..count.min(taken + PUBLISH_BYTES_MAX);
            taken = part.end;
            self.take(&mut into[part]);
        }
        Ok(count)
    }

    /// Reads available bytes, and publishes the new position.
    fn take(&mut self, into: &mut UninitSlice) {
        for (offset, range) in parts(
            self.memory.capacity(),
            self.read.wrapping_sub(self.rewound),
            into.len(),
        ) {
            self.memory.copy_out(offset, &mut into[range]);
        }
        self.read = self.read.wrapping_add(into.len() as u64);
        self.memory.store(Word::Read, self.read);
    }

    /// Whether the writer must be woken after a read. It returns true once per block of the writer.
    pub fn must_wake(&self) -> bool {
        must_wake(&self.memory, Word::WriterBlocked)
    }

    /// Announces that this end blocks until there are bytes. Returns false if there are bytes, so
    /// that it must not block.
    ///
    /// # Errors
    /// As [`Reader::available`].
    pub fn prepare_to_block(&self) -> Result<bool, Violation> {
        self.memory.store(Word::ReaderBlocked, 1);
        self.memory.fence();
        Ok(self.available()? == 0)
    }

    /// Announces that this end is no longer blocked although it was not woken. A wake-up may still
    /// arrive.
    pub fn cancel_block(&self) {
        self.memory.store(Word::ReaderBlocked, 0);
    }
}

/// The offsets of `count` bytes from a position on, each with the range of the bytes there. There
/// are two parts if the end of the ring lies between them. The offsets are within the ring for
/// every position.
fn parts(
    capacity: usize,
    distance: u64,
    count: usize,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let offset = (distance % capacity as u64) as usize;
    let first = count.min(capacity - offset);
    [(offset, 0..first), (0, first..count)]
        .into_iter()
        .filter(|(_, range)| !range.is_empty())
}

fn must_wake(memory: &impl Memory, blocked: Word) -> bool {
    memory.fence();
    memory.load(blocked) != 0 && memory.take(blocked) != 0
}
