//! File data in transit: reference-counted, and never copied by the cores.

use crate::{Gathered, Pattern, Source};
use alloc::{sync::Arc, vec};
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};

/// A piece of file data. Clones and slices share the memory.
///
/// It is real bytes, a part of a [`Pattern`], or a part of a [`Source`]. A pattern takes no memory,
/// so that a terabyte costs nothing in a simulation and reads can still be verified. A source has
/// the data elsewhere, so that a store can be larger than the memory. Code that only moves data
/// need not distinguish them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Plain", into = "Plain")]
pub struct Payload(Content);

#[derive(Clone, Debug)]
enum Content {
    Bytes {
        bytes: Bytes,
        /// The size of the buffer that `bytes` retains. Its type leaves room for the variant, as
        /// futures hold many payloads.
        buffer_bytes: u32,
    },
    Pattern(Part),
    Stored(Stored),
}

/// The bytes `from..to` of a source.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The source.
    pub source: Arc<dyn Source>,
    /// The first byte.
    pub from: usize,
    /// The byte after the last.
    pub to: usize,
}

impl Stored {
    /// The length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.to - self.from
    }

    /// Whether there is no data.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn bytes(&self) -> Bytes {
        self.source.read(self.from, self.to)
    }
}

/// The bytes `offset..offset + length` of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    pattern: Pattern,
    offset: u64,
    length: usize,
}

impl Part {
    fn bytes(self) -> Bytes {
        let mut buffer = vec![0; self.length];
        self.pattern.fill(self.offset, &mut buffer);
        buffer.into()
    }
}

impl Payload {
    /// No data.
    pub const fn empty() -> Self {
        Self::within(Bytes::new(), 0)
    }

    /// Data that is a slice of a buffer of `buffer_bytes` bytes. The slice retains the whole
    /// buffer.
    pub const fn within(bytes: Bytes, buffer_bytes: usize) -> Self {
        let is_huge = buffer_bytes > u32::MAX as usize;
        let buffer_bytes = if is_huge {
            u32::MAX
        } else {
            buffer_bytes as u32
        };
        Self(Content::Bytes {
            bytes,
            buffer_bytes,
        })
    }

    /// `length` bytes of a pattern, from `offset` on.
    pub const fn of_pattern(pattern: Pattern, offset: u64, length: usize) -> Self {
        Self(Content::Pattern(Part {
            pattern,
            offset,
            length,
        }))
    }

    /// A part of a source.
    pub const fn stored(stored: Stored) -> Self {
        Self(Content::Stored(stored))
    }

    /// The part of a source, if it is one.
    pub const fn as_stored(&self) -> Option<&Stored> {
        match &self.0 {
            Content::Stored(stored) => Some(stored),
            Content::Bytes { .. } | Content::Pattern(_) => None,
        }
    }

    /// The same data, without a source.
    #[must_use]
    pub fn loaded(self) -> Self {
        match &self.0 {
            Content::Stored(stored) => Self::from(stored.bytes()),
            Content::Bytes { .. } | Content::Pattern(_) => self,
        }
    }

    /// `length` bytes composed of pieces at offsets, in order, with zeros in gaps. A single piece
    /// is not copied.
    pub fn gather(length: usize, pieces: &[(usize, Self)]) -> Self {
        let mut whole = Gathered::new(length, Self::empty());
        for (at, piece) in pieces {
            whole.push(Self::empty(), at - whole.len());
            whole.push(piece.clone(), piece.len());
        }
        whole.push(Self::empty(), length - whole.len());
        whole.finish().0
    }

    /// The length in bytes.
    pub const fn len(&self) -> usize {
        match &self.0 {
            Content::Bytes { bytes, .. } => bytes.len(),
            Content::Pattern(part) => part.length,
            Content::Stored(stored) => stored.len(),
        }
    }

    /// Whether there is no data.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes `from..to`. Panics if they are not within the payload, as slices do.
    pub fn slice(&self, from: usize, to: usize) -> Self {
        match &self.0 {
            Content::Bytes {
                bytes,
                buffer_bytes,
            } => Self::within(bytes.slice(from..to), *buffer_bytes as usize),
            Content::Pattern(part) => {
                assert!(from <= to && to <= part.length, "{from}..{to} of {part:?}");
                Self::of_pattern(part.pattern, part.offset + from as u64, to - from)
            }
            Content::Stored(stored) => {
                assert!(
                    from <= to && to <= stored.len(),
                    "{from}..{to} of {stored:?}"
                );
                Self::stored(Stored {
                    source: Arc::clone(&stored.source),
                    from: stored.from + from,
                    to: stored.from + to,
                })
            }
        }
    }

    /// The first `at` bytes and the rest. Panics if there are fewer.
    pub fn split_at(&self, at: usize) -> (Self, Self) {
        (self.slice(0, at), self.slice(at, self.len()))
    }

    /// The bytes themselves; the bytes of a pattern are computed, those of a source read.
    pub fn bytes(&self) -> Bytes {
        match &self.0 {
            Content::Bytes { bytes, .. } => bytes.clone(),
            Content::Pattern(part) => part.bytes(),
            Content::Stored(stored) => stored.bytes(),
        }
    }

    /// A copy of parts, twice: the second one is the `spare` of a later copy. The bytes are copied
    /// into the buffer of `spare`, if nobody else uses it any more and if it is not much too large.
    pub fn copied(parts: &[impl AsRef<[u8]>], spare: Self) -> (Self, Self) {
        let lengths = parts.iter().map(|part| part.as_ref().len());
        let mut buffer = spare.buffer_for(lengths.sum());
        for part in parts {
            buffer.extend_from_slice(part.as_ref());
        }
        let buffer_bytes = buffer.capacity();
        let copy = Self::within(buffer.freeze(), buffer_bytes);
        (copy.clone(), copy)
    }

    /// An empty buffer for `length` bytes and less than twice as many: the payload's own, if nobody
    /// else uses it.
    pub(crate) fn buffer_for(self, length: usize) -> BytesMut {
        let fits = |buffer: &BytesMut| (length..length * 2).contains(&buffer.capacity());
        let own = self.into_buffer().filter(fits);
        own.unwrap_or_else(|| BytesMut::with_capacity(length))
    }

    /// The buffer of the bytes, empty, if nobody else uses it.
    fn into_buffer(self) -> Option<BytesMut> {
        let Content::Bytes { bytes, .. } = self.0 else {
            return None;
        };
        let mut buffer = bytes.try_into_mut().ok()?;
        buffer.clear();
        Some(buffer)
    }

    /// Whether this payload and then `next` are one piece of the same kind: both are bytes, or
    /// `next` continues the pattern.
    pub fn goes_on_with(&self, next: &Self) -> bool {
        match (&self.0, &next.0) {
            (Content::Bytes { .. }, Content::Bytes { .. }) => true,
            (Content::Pattern(_), Content::Pattern(_)) => self.extended(next).is_some(),
            _ => false,
        }
    }

    /// Whether it takes memory.
    pub const fn takes_memory(&self) -> bool {
        matches!(self.0, Content::Bytes { .. })
    }

    /// The pattern that covers this payload and then `next`, if both are adjacent parts of it.
    pub(crate) fn extended(&self, next: &Self) -> Option<Self> {
        let (Content::Pattern(first), Content::Pattern(second)) = (&self.0, &next.0) else {
            return None;
        };
        let end = first.offset + first.length as u64;
        let continued = first.pattern == second.pattern && end == second.offset;
        let length = first.length + second.length;
        continued.then(|| Self::of_pattern(first.pattern, first.offset, length))
    }

    /// The same data, copied into a buffer of its own if it retains a much larger one. So data that
    /// is stored for long wastes less than half of its memory.
    #[must_use]
    pub fn compact(self) -> Self {
        match &self.0 {
            Content::Bytes {
                bytes,
                buffer_bytes,
            } if bytes.len() * 2 <= *buffer_bytes as usize => {
                Self::from(Bytes::copy_from_slice(bytes))
            }
            _ => self,
        }
    }
}

const _: () = assert!(size_of::<Payload>() == 40, "one word beside its bytes");

impl Default for Payload {
    fn default() -> Self {
        Self::empty()
    }
}

impl From<Bytes> for Payload {
    /// Wraps data that owns its whole buffer.
    fn from(bytes: Bytes) -> Self {
        let buffer_bytes = bytes.len();
        Self::within(bytes, buffer_bytes)
    }
}

impl PartialEq for Payload {
    /// By value: a pattern equals the bytes that it represents.
    fn eq(&self, other: &Self) -> bool {
        let same = |part: &Part, bytes: &[u8]| {
            part.length == bytes.len()
                && part.pattern.first_difference(part.offset, bytes).is_none()
        };
        match (&self.0, &other.0) {
            (Content::Bytes { bytes, .. }, Content::Bytes { bytes: others, .. }) => bytes == others,
            (Content::Pattern(part), Content::Bytes { bytes, .. })
            | (Content::Bytes { bytes, .. }, Content::Pattern(part)) => same(part, bytes),
            (Content::Pattern(part), Content::Pattern(others)) => {
                part == others || part.length == others.length && same(part, &others.bytes())
            }
            (Content::Stored(stored), _) => {
                stored.len() == other.len() && Self::from(stored.bytes()) == *other
            }
            (_, Content::Stored(stored)) => {
                stored.len() == self.len() && *self == Self::from(stored.bytes())
            }
        }
    }
}

impl Eq for Payload {}

/// The serialized form, in which a pattern stays a pattern.
#[derive(Serialize, Deserialize)]
enum Plain {
    Bytes(Bytes),
    Pattern(Part),
}

impl From<Payload> for Plain {
    fn from(payload: Payload) -> Self {
        match payload.0 {
            Content::Bytes { bytes, .. } => Self::Bytes(bytes),
            Content::Pattern(part) => Self::Pattern(part),
            Content::Stored(stored) => Self::Bytes(stored.bytes()),
        }
    }
}

impl From<Plain> for Payload {
    fn from(plain: Plain) -> Self {
        match plain {
            Plain::Bytes(bytes) => bytes.into(),
            Plain::Pattern(part) => Self(Content::Pattern(part)),
        }
    }
}
