//! Typed identities. None of them changes when the cluster grows.

use core::fmt;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// One of the cluster's fixed number of partitions: the unit of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition(pub u16);

/// A server of the cluster: one single-threaded shard, numbered from 0 in the cluster map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId(pub u16);

/// One incarnation of a server, from an empty store to the loss of the store.
///
/// It is drawn at random at the start and stored with a durable store. One incarnation is not bound
/// by the promises of another.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// Bits of a [`FileId`]'s counter that distinguish incarnations.
    const BITS: u32 = 24;

    /// The counter from which an incarnation numbers the files that are born in one of its
    /// partitions.
    ///
    /// Two incarnations assign the same identities only if their lowest 24 bits are equal, or if
    /// one creates 2^24 files in one partition.
    pub const fn first_counter(self) -> u64 {
        (self.0 & ((1 << Self::BITS) - 1)) << (48 - Self::BITS)
    }
}

/// A client's session: drawn at random by the client when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub u64);

impl SessionId {
    /// The session of a contact server, in one of its incarnations, with a home. `number` counts
    /// the sessions between the two.
    pub fn of_contact(
        contact: ServerId,
        incarnation: Incarnation,
        home: ServerId,
        number: u32,
    ) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&incarnation.0.to_le_bytes());
        bytes[8..10].copy_from_slice(&contact.0.to_le_bytes());
        bytes[10..12].copy_from_slice(&home.0.to_le_bytes());
        bytes[12..].copy_from_slice(&number.to_le_bytes());
        Self(xxh3_64(&bytes).max(1))
    }
}

/// The identity of a file, directory or other node; users see it as `st_ino`.
///
/// The high 16 bits are its *home partition*, which holds its inode. The low 48 bits count the
/// files that were born there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId(pub u64);

impl FileId {
    /// The root directory: the first file of partition 0.
    pub const ROOT: Self = Self::new(Partition(0), 1);

    /// The `counter`-th file of partition `home`. Only the low 48 bits of `counter` are used.
    pub const fn new(home: Partition, counter: u64) -> Self {
        Self(((home.0 as u64) << 48) | (counter & ((1 << 48) - 1)))
    }

    /// The partition that holds the inode.
    pub const fn home(self) -> Partition {
        Partition((self.0 >> 48) as u16)
    }
}

/// A piece of a file's data: chunk `index` of `file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChunkId {
    /// The file that the data belongs to.
    pub file: FileId,
    /// The chunk's number, from 0 at the start of the file.
    pub index: u64,
}

impl ChunkId {
    /// The offset of its first byte in the file, if every chunk has `chunk_bytes`. It saturates,
    /// because both numbers may come from a message.
    pub const fn start(self, chunk_bytes: u32) -> u64 {
        self.index.saturating_mul(chunk_bytes as u64)
    }
}

/// The identity of a request, which all its retries share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId {
    /// The session that sends it.
    pub session: SessionId,
    /// Its number within the session, from 1.
    pub sequence: u64,
}

/// The identity of a transaction: its session, and a number that the session uses once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TransactionId {
    /// The session that runs it.
    pub session: SessionId,
    /// Its number within the session.
    pub sequence: u64,
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.home().0, self.0 & ((1 << 48) - 1))
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_id_keeps_its_home_and_counter_apart() {
        let id = FileId::new(Partition(4095), 7);
        assert_eq!(id.home(), Partition(4095));
        assert_eq!(id.0 & 0xffff_ffff_ffff, 7);
        assert_eq!(FileId::ROOT.0, 1);
    }
}
