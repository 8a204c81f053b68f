//! Pieces of data that become one.

use crate::Payload;
use bytes::BytesMut;

/// Joins pieces of data as they arrive, so that each can be dropped at once. A single piece is not
/// copied, and neither are the parts of a pattern.
#[derive(Debug)]
pub struct Gathered {
    /// The length of the whole, in bytes.
    length: usize,
    /// The data so far, if it needed no copy.
    first: Payload,
    /// The data so far, if it did.
    joined: BytesMut,
    /// Earlier data, whose buffer is used again once nobody else uses it.
    spare: Payload,
}

impl Gathered {
    /// Joins `length` bytes. If they must be copied, they are copied into the buffer of `spare`, if
    /// nobody else uses it any more and if it is not much too large.
    pub fn new(length: usize, spare: Payload) -> Self {
        Self {
            length,
            first: Payload::empty(),
            joined: BytesMut::new(),
            spare,
        }
    }

    /// The number of bytes so far.
    pub fn len(&self) -> usize {
        self.first.len() + self.joined.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the next `length` bytes: `data`, and zeros after it.
    pub fn push(&mut self, data: Payload, length: usize) {
        if length == 0 {
            return;
        }
        if self.joined.is_empty() {
            if data.len() == length
                && let Some(first) = self.seamless(&data)
            {
                self.first = first;
                return;
            }
            self.joined = self.buffer();
            let first = core::mem::take(&mut self.first);
            self.joined.extend_from_slice(&first.bytes());
        }
        let end = self.joined.len() + length;
        self.joined.extend_from_slice(&data.bytes());
        self.joined.resize(end, 0);
    }

    /// All bytes, and the spare data for next time.
    pub fn finish(self) -> (Payload, Payload) {
        if self.joined.is_empty() {
            return (self.first, self.spare);
        }
        let buffer_bytes = self.joined.capacity();
        let whole = Payload::within(self.joined.freeze(), buffer_bytes);
        (whole.clone(), whole)
    }

    /// The data so far together with `data`, if that needs no copy.
    fn seamless(&self, data: &Payload) -> Option<Payload> {
        if self.is_empty() {
            return Some(data.clone());
        }
        self.first.extended(data)
    }

    fn buffer(&mut self) -> BytesMut {
        core::mem::take(&mut self.spare).buffer_for(self.length)
    }
}
