//! Names of extended attributes.

use crate::{Errno, limits};
use bytes::Bytes;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize};

/// An extended attribute's name with its name space: 1 to 255 bytes, any but NUL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct XattrName(Bytes);

impl XattrName {
    /// Validates a name.
    ///
    /// Errors: `ERANGE` for its length, `EINVAL` for a byte that no name can have.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, Errno> {
        let bytes = bytes.into();
        if bytes.is_empty() || bytes.len() > limits::NAME_BYTES {
            return Err(Errno::ERANGE);
        }
        if bytes.contains(&0) {
            return Err(Errno::EINVAL);
        }
        Ok(Self(bytes))
    }

    /// A bound below every name, for the start of a range of keys. No attribute has this name.
    pub const fn least() -> Self {
        Self(Bytes::new())
    }

    /// The attribute that holds a program's capabilities on Linux.
    pub const fn of_capabilities() -> Self {
        Self(Bytes::from_static(b"security.capability"))
    }

    /// The attribute that is a directory's chunk size for new files, as decimal digits.
    pub const fn of_chunk_size() -> Self {
        Self(Bytes::from_static(b"user.futago.chunk_size"))
    }

    /// The name's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for XattrName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl<'de> Deserialize<'de> for XattrName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Bytes::deserialize(deserializer)?;
        Self::new(bytes).map_err(serde::de::Error::custom)
    }
}
