//! The first bytes of every file: its kind, its owner, and its place in a sequence.
//!
//! ```text
//!   0 magic               8 version      12 server      14 reserved
//!  16 cluster            24 incarnation  32 number
//!  40 number of before   44 crc32c of this head
//! ```
//!
//! The number of a file of the log is the position of its first entry, and before it comes the
//! entry with the checksum at 40. A file of data has a number of its own, and nothing before it.

use crate::StoreError;
use futago_base::{Incarnation, ServerId};
use std::{fmt, path::Path};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

/// The version of the format of all files.
pub const VERSION: u32 = 1;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Entries of the log.
    Log,
    /// Data of chunks.
    Data,
}

impl FileKind {
    const fn magic(self) -> [u8; 8] {
        match self {
            Self::Log => *b"FTGOLOG\n",
            Self::Data => *b"FTGODAT\n",
        }
    }
}

/// The owner of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The cluster.
    pub cluster: u64,
    /// The server.
    pub server: ServerId,
    /// The life of the server that began with an empty store.
    pub incarnation: Incarnation,
}

impl Identity {
    /// Its checksum, with which those of entries begin.
    pub fn seed(&self) -> u32 {
        let server = self.server.0.to_le_bytes();
        let life = self.incarnation.0.to_le_bytes();
        let sum = crc32c::crc32c(&self.cluster.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c_append(sum, &server), &life)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cluster, server, life) = (self.cluster, self.server, self.incarnation.0);
        write!(
            f,
            "{server} of cluster {cluster:016x}, begun as {life:016x}"
        )
    }
}

/// The contents of the head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The owner.
    pub identity: Identity,
    /// The number of the file.
    pub number: u64,
    /// The checksum of the entry before the file; 0 for a file of data.
    pub previous: u32,
}

/// The encoded head.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Encoded {
    magic: [u8; 8],
    version: U32,
    server: U16,
    reserved: U16,
    cluster: U64,
    incarnation: U64,
    number: U64,
    previous: U32,
    crc32c: U32,
}

/// The size of a head, in bytes.
pub const HEAD_BYTES: usize = size_of::<Encoded>();
/// The checksum is the last field.
const COVERED_BYTES: usize = HEAD_BYTES - size_of::<u32>();

impl Head {
    /// Its bytes, for a file of a kind.
    pub fn encode(&self, kind: FileKind) -> Vec<u8> {
        let mut encoded = Encoded {
            magic: kind.magic(),
            version: U32::new(VERSION),
            server: U16::new(self.identity.server.0),
            reserved: U16::new(0),
            cluster: U64::new(self.identity.cluster),
            incarnation: U64::new(self.identity.incarnation.0),
            number: U64::new(self.number),
            previous: U32::new(self.previous),
            crc32c: U32::new(0),
        };
        encoded.crc32c = U32::new(crc32c::crc32c(&encoded.as_bytes()[..COVERED_BYTES]));
        encoded.as_bytes().to_vec()
    }

    /// The head of a file of a kind that begins with these bytes; `None` if the head was never
    /// written whole: the file ends within it, or has zeros in its place.
    ///
    /// # Errors
    /// `Damaged` if the head is not as it was written, and `Version`.
    pub fn decode(kind: FileKind, bytes: &[u8], path: &Path) -> Result<Option<Self>, StoreError> {
        let Ok((encoded, _)) = Encoded::read_from_prefix(bytes) else {
            return Ok(None);
        };
        if encoded.as_bytes().iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let is_of_kind = encoded.magic == kind.magic();
        if is_of_kind && encoded.version.get() != VERSION {
            return Err(StoreError::Version {
                path: path.into(),
                found: encoded.version.get(),
                known: VERSION,
            });
        }
        if !is_of_kind || crc32c::crc32c(&bytes[..COVERED_BYTES]) != encoded.crc32c.get() {
            return Err(StoreError::damaged(path, 0));
        }
        Ok(Some(Self {
            identity: Identity {
                cluster: encoded.cluster.get(),
                server: ServerId(encoded.server.get()),
                incarnation: Incarnation(encoded.incarnation.get()),
            },
            number: encoded.number.get(),
            previous: encoded.previous.get(),
        }))
    }
}
