//! Messages between clients that share their caches, and where a reader finds copies.

use alloc::vec::Vec;
use futago_base::{Errno, FileId, Payload, SessionId, record::Door};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// The unit in which copies are looked up, in bytes: a file's piece `n` begins at `n` times this.
pub const PIECE_BYTES: u64 = 1 << 20;
/// The unit in which copies are cached and checked, in bytes.
pub const BLOCK_BYTES: u32 = 64 << 10;

/// A client that probably has pieces of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The client.
    pub session: SessionId,
    /// Where it listens.
    pub door: Door,
}

/// The client to ask for a piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopySource {
    /// The position of the client in the list of holders.
    pub holder: u16,
    /// How many caches the piece passes through, with that of the holder.
    pub depth: u8,
}

/// The data that a client has read from servers and from other clients, and has sent others from
/// its cache, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingCounters {
    /// The data that was read from servers, in bytes.
    pub bytes_from_servers: u64,
    /// The data that was read from other clients, in bytes.
    pub bytes_from_peers: u64,
    /// The data that other clients were sent, in bytes.
    pub bytes_served: u64,
    /// How often other clients have asked this one.
    pub asked: u64,
    /// How often they got data.
    pub served: u64,
    /// How often other clients were asked and had nothing, or did not answer in time.
    pub missed: u64,
    /// How often data of another client was damaged.
    pub damaged: u64,
    /// The data that other clients have cached instead of its being evicted here, in bytes.
    pub bytes_forwarded: u64,
}

/// A request of a client to another client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheRequest {
    /// Reads a range of a file from the cache. The range begins at a multiple of [`BLOCK_BYTES`].
    Read {
        /// The file.
        file: FileId,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u32,
        /// How many caches the data passes through up to the reader's, with it. The client waits
        /// only for what passes through fewer up to its own.
        depth: u8,
    },
    /// Reads a range of a file into the cache. Reply: [`CacheReply::Loaded`].
    Load {
        /// The file.
        file: FileId,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// Reads blocks of a file into the cache, from a client that evicts them and from no server.
    /// Reply: [`CacheReply::Loaded`].
    Keep {
        /// The client that evicts them.
        from: Holder,
        /// The file.
        file: FileId,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
        /// How often they may pass to another client again.
        chances: u8,
    },
    /// Keeps what the cache has or gets of a file in preference to other files, or ends that.
    /// Reply: [`CacheReply::Done`].
    Pin {
        /// The file.
        file: FileId,
        /// Whether it is pinned from now on.
        is_pinned: bool,
    },
    /// Asks what the client has read and sent. Reply: [`CacheReply::Counters`].
    GetCounters,
}

/// The reply of a client to another client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheReply {
    /// The first bytes of the range, as far as they are cached, with the sum of each block.
    Read {
        /// The [`sum_of_block`] of each block; the last block may be short.
        sums: Vec<u64>,
    },
    /// The client waits for the data itself: the reply comes later.
    Coming,
    /// So many bytes of the range are in the cache, or the error of reading them.
    Loaded(Result<u64, Errno>),
    /// The counters of the client.
    Counters(SharingCounters),
    /// The request is executed.
    Done,
}

impl CacheReply {
    /// The reply with this data.
    pub fn of(data: &Payload) -> Self {
        let bytes = data.bytes();
        let blocks = bytes.chunks(BLOCK_BYTES as usize);
        Self::Read {
            sums: blocks.map(sum_of_block).collect(),
        }
    }
}

/// The sum by which a reader notices bytes that were damaged in another client's memory.
pub fn sum_of_block(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}
