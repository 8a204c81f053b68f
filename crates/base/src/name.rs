//! Names of directory entries, their hashes, and the buckets that the hashes fall into.

use crate::{Errno, limits};
use bytes::Bytes;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A directory entry's name: 1 to 255 bytes, any but NUL and `/`, and neither `.` nor `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Name(Bytes);

impl Name {
    /// Validates a name.
    ///
    /// Errors: `ENOENT` if it is empty, `ENAMETOOLONG`, and `EINVAL` for a byte or a name that no
    /// entry can have.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, Errno> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(Errno::ENOENT);
        }
        if bytes.len() > limits::NAME_BYTES {
            return Err(Errno::ENAMETOOLONG);
        }
        let reserved = matches!(&bytes[..], b"." | b"..");
        if reserved || bytes.iter().any(|byte| matches!(byte, 0 | b'/')) {
            return Err(Errno::EINVAL);
        }
        Ok(Self(bytes))
    }

    /// A bound below every name, for the start of a range of keys. No entry has this name.
    pub const fn least() -> Self {
        Self(Bytes::new())
    }

    /// The name's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The hash, which orders the names of a directory.
    pub fn hash(&self) -> NameHash {
        NameHash((xxh3_64(&self.0) >> 1).max(NameHash::FIRST))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Bytes::deserialize(deserializer)?;
        Self::new(bytes).map_err(serde::de::Error::custom)
    }
}

/// The 63-bit hash of a name: the order of a directory's listing and its resumable cookie.
///
/// It has 63 bits, because the kernel's directory offsets are signed. Gateways use the values below
/// [`NameHash::FIRST`] for the start of a listing, `.`, `..`, and positions between names of one
/// hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NameHash(pub u64);

impl NameHash {
    /// The smallest hash of a name.
    pub const FIRST: u64 = 1 << 20;
}

/// A bucket of a directory, identified by the first hash of its range.
///
/// A bucket at level *l* covers `2^(63-l)` hashes. A split halves the range: the lower half keeps
/// start and server, and the upper half becomes a new bucket (GIGA+, Patil and Gibson, FAST 2011).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct BucketStart(pub u64);

/// Refuses what is no hash of a name, so that the arithmetic of [`BucketStart`] cannot overflow.
impl<'de> Deserialize<'de> for BucketStart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            start if start < Self::width(0) => Ok(Self(start)),
            _ => Err(serde::de::Error::custom("not the start of a bucket")),
        }
    }
}

/// Decodes the level of a bucket; refuses numbers above [`BucketStart::LEVEL_MAX`].
pub fn deserialize_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        level if level <= BucketStart::LEVEL_MAX => Ok(level),
        _ => Err(serde::de::Error::custom("not the level of a bucket")),
    }
}

impl BucketStart {
    /// The deepest level: a range of one hash.
    pub const LEVEL_MAX: u8 = 63;

    /// The number of hashes that a bucket at `level` covers.
    pub const fn width(level: u8) -> u64 {
        1 << (Self::LEVEL_MAX - level)
    }

    /// Whether a bucket at `level` can begin here, which is so if repeated halving yields this
    /// range.
    pub const fn is_range(self, level: u8) -> bool {
        level <= Self::LEVEL_MAX
            && self.0 < Self::width(0)
            && self.0.is_multiple_of(Self::width(level))
    }

    /// Whether this bucket, at `level`, covers `hash`.
    pub const fn covers(self, level: u8, hash: NameHash) -> bool {
        hash.0 >= self.0 && hash.0 - self.0 < Self::width(level)
    }

    /// The bucket that receives the upper half when this bucket, now at `level`, splits.
    pub const fn upper_half(self, level: u8) -> Self {
        Self(self.0 + Self::width(level + 1))
    }

    /// The bucket at `level` that covers `hash`.
    pub const fn covering(level: u8, hash: NameHash) -> Self {
        Self(hash.0 & !(Self::width(level) - 1))
    }

    /// The start of the next bucket after this one at `level`; `None` after the last.
    pub const fn end(self, level: u8) -> Option<Self> {
        let end = self.0 + Self::width(level);
        if end == 1 << 63 {
            None
        } else {
            Some(Self(end))
        }
    }

    /// All buckets of a directory that was split evenly `level` times, in order.
    pub fn tiling(level: u8) -> impl Iterator<Item = Self> {
        (0..1_u64 << level).map(move |at| Self(at * Self::width(level)))
    }

    /// The bucket's number in the order in which a directory's buckets are created.
    ///
    /// It is the start with its bits reversed, and the distance from the directory's home partition
    /// to the bucket's partition. So the server of a bucket follows from its start, and no list of
    /// servers is stored.
    pub const fn ordinal(self) -> u64 {
        (self.0 << 1).reverse_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_entry_can_have_are_refused() {
        for (name, errno) in [
            (&b""[..], Errno::ENOENT),
            (b".", Errno::EINVAL),
            (b"..", Errno::EINVAL),
            (b"a/b", Errno::EINVAL),
            (b"a\0b", Errno::EINVAL),
            (&[b'x'; 256], Errno::ENAMETOOLONG),
        ] {
            assert_eq!(Name::new(name.to_vec()).unwrap_err(), errno);
        }
        assert!(Name::new(&[0xff_u8; 255][..]).is_ok());
    }

    #[test]
    fn buckets_come_into_being_in_bit_reversed_order() {
        let root = BucketStart(0);
        let half = root.upper_half(0);
        assert_eq!(half, BucketStart(1 << 62));
        assert_eq!(root.ordinal(), 0);
        assert_eq!(half.ordinal(), 1);
        assert_eq!(root.upper_half(1).ordinal(), 2);
        assert_eq!(half.upper_half(1).ordinal(), 3);
    }

    #[test]
    fn the_halves_of_a_bucket_tile_it() {
        let bucket = BucketStart(1 << 62);
        let upper = bucket.upper_half(1);
        assert_eq!(bucket.end(2), Some(upper));
        assert_eq!(upper.end(2), None);
        assert!(bucket.covers(1, NameHash((1 << 63) - 1)));
        assert!(!bucket.covers(2, NameHash(upper.0)));
        assert_eq!(BucketStart::covering(2, NameHash(upper.0 - 1)), bucket);
        assert_eq!(BucketStart::covering(2, NameHash(upper.0)), upper);
        assert_eq!(BucketStart::covering(0, NameHash(upper.0)), BucketStart(0));
    }
}
