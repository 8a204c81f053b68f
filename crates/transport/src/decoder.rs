//! Decodes messages from a stream of bytes, piece by piece.

use crate::checksum::crc32c_append;
use bytes::{Buf, BufMut, BytesMut, buf::Limit};
use futago_base::Payload;
use futago_wire::{
    DecodeError, Frame,
    codec::{DATA_SUM_BYTES, HEADER_BYTES, Lengths},
};

/// Messages up to this size, in bytes, need no share of the budget for large messages.
pub const SMALL_BYTES: usize = 64 << 10;

/// The bytes of a buffer that an idle connection retains in each direction: enough for most
/// messages without data.
pub const IDLE_BUFFER_BYTES: usize = 1 << 10;

/// Assembles messages. Data is read into a buffer of exactly its size, which the message retains,
/// and is checksummed as it arrives.
#[derive(Debug)]
pub struct Decoder {
    head: [u8; HEADER_BYTES],
    head_filled: usize,
    lengths: Option<Lengths>,
    granted: bool,
    body: Vec<u8>,
    payload: BytesMut,
    /// The checksum of the first `summed` bytes of the data, which continues the head's checksum.
    data_sum: u32,
    summed: usize,
    sent_sum: [u8; DATA_SUM_BYTES],
    sent_sum_filled: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            head: [0; HEADER_BYTES],
            head_filled: 0,
            lengths: None,
            granted: false,
            body: Vec::new(),
            payload: BytesMut::new(),
            data_sum: 0,
            summed: 0,
            sent_sum: [0; DATA_SUM_BYTES],
            sent_sum_filled: 0,
        }
    }
}

impl Decoder {
    /// Whether a message is incomplete.
    pub const fn is_within_message(&self) -> bool {
        self.head_filled > 0
    }

    /// The size in bytes of a large message that needs a grant of memory to continue.
    pub fn wanted_bytes(&self) -> Option<usize> {
        let lengths = self.lengths?;
        let bytes = lengths.body_bytes + lengths.payload_bytes;
        (!self.granted && bytes > SMALL_BYTES).then_some(bytes)
    }

    /// Lets a large message continue.
    pub const fn grant(&mut self) {
        self.granted = true;
    }

    /// Consumes bytes from the front of `bytes`, until a message is complete, a large message needs
    /// memory or no bytes are left.
    ///
    /// # Errors
    /// The bytes are not a message; the stream is unusable from then on.
    pub fn decode(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, DecodeError> {
        if self.lengths.is_none() {
            self.head_filled += fill(&mut self.head[self.head_filled..], bytes);
            if self.head_filled < HEADER_BYTES {
                return Ok(None);
            }
            let lengths = Frame::lengths(&self.head)?;
            self.data_sum = lengths.head_sum;
            self.lengths = Some(lengths);
        }
        let (Some(lengths), None) = (self.lengths, self.wanted_bytes()) else {
            return Ok(None);
        };
        let count = bytes.len().min(lengths.body_bytes - self.body.len());
        self.body.extend_from_slice(&bytes[..count]);
        bytes.advance(count);
        if self.body.len() < lengths.body_bytes {
            return Ok(None);
        }
        let missing = lengths.payload_bytes - self.payload.len();
        if self.payload.capacity() < lengths.payload_bytes {
            self.payload = BytesMut::with_capacity(lengths.payload_bytes);
        }
        let count = bytes.len().min(missing);
        self.payload.put_slice(&bytes[..count]);
        bytes.advance(count);
        self.sum_up();
        if count < missing {
            return Ok(None);
        }
        let sent_sum = &mut self.sent_sum[..lengths.data_sum_bytes];
        self.sent_sum_filled += fill(&mut sent_sum[self.sent_sum_filled..], bytes);
        if self.sent_sum_filled < lengths.data_sum_bytes {
            return Ok(None);
        }
        self.finish().map(Some)
    }

    /// A buffer of at most `most_bytes` for the missing data of the current message, to read into
    /// directly. [`Decoder::decode`] must follow.
    pub fn payload_room(&mut self, most_bytes: usize) -> Option<Limit<&mut BytesMut>> {
        let lengths = self.lengths?;
        let missing = lengths.payload_bytes.checked_sub(self.payload.len())?;
        let at_payload = self.body.len() == lengths.body_bytes && self.wanted_bytes().is_none();
        let reserved = self.payload.capacity() >= lengths.payload_bytes;
        (at_payload && reserved && missing > 0)
            .then(|| (&mut self.payload).limit(missing.min(most_bytes)))
    }

    /// Checksums the data that has arrived since the last call.
    fn sum_up(&mut self) {
        if self.payload.len() > self.summed {
            self.data_sum = crc32c_append(self.data_sum, &self.payload[self.summed..]);
            self.summed = self.payload.len();
        }
    }

    fn finish(&mut self) -> Result<Frame, DecodeError> {
        if self.summed > 0 && self.sent_sum != self.data_sum.to_le_bytes() {
            return Err(DecodeError::Checksum);
        }
        let payload = Payload::from(std::mem::take(&mut self.payload).freeze());
        let frame = Frame::decode(&self.head, &self.body, payload, crc32c_append);
        (self.head_filled, self.lengths, self.granted) = (0, None, false);
        (self.summed, self.sent_sum_filled) = (0, 0);
        self.body.clear();
        self.body.shrink_to(IDLE_BUFFER_BYTES);
        frame
    }
}

/// Moves bytes from the front of `bytes` to the front of `into`. Returns their number.
fn fill(into: &mut [u8], bytes: &mut &[u8]) -> usize {
    let count = bytes.len().min(into.len());
    into[..count].copy_from_slice(&bytes[..count]);
    bytes.advance(count);
    count
}
