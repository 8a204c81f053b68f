//! The settings of a client.

use futago_base::{Duration, ServerId};
use futago_wire::cache::BLOCK_BYTES;

/// A client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The chunk size of new files, in bytes. Default: 1 MiB.
    pub chunk_bytes: u32,
    /// How long an operation retries when other clients interfere, before it fails with `EBUSY` or
    /// `EIO`. Default: 30 s.
    pub retry: Duration,
    /// The first pause before a retry; it doubles up to [`Config::pause_max`]. Default: 1 ms.
    pub pause_min: Duration,
    /// The longest pause before a retry. Default: 100 ms.
    pub pause_max: Duration,
    /// The most directories whose buckets are cached. Default: 4,096.
    pub directories_max: usize,
    /// The most files whose layouts are cached. Default: 16,384.
    pub files_max: usize,
    /// How long the client trusts its leases on a server after it has sent a request that the
    /// server has answered. `None` if the client accepts no leases. It must be shorter than the
    /// lease of the servers by an eighth of that and by the clock difference. Default: none.
    pub lease_trust: Option<Duration>,
    /// The most nodes that are cached under leases. Default: 262,144.
    pub leases_max: usize,
    /// The most names that are cached under leases. Default: 1,048,576.
    pub names_max: usize,
    /// The most entries of one server that a client with leases lists with one request, whatever a
    /// program asks for. Default: 1,024.
    pub listed_at_once: u32,
    /// The most file data that is cached under leases, in bytes. Default: 64 MiB.
    pub data_bytes_max: u64,
    /// The most dirty data under exclusive leases, in bytes; 0 to write through. Default: 32 MiB.
    pub dirty_bytes_max: u64,
    /// The client asks for an exclusive lease at this small write to a file, counted from the start
    /// of its lease. Default: the fourth.
    pub exclusive_after: u32,
    /// The server that is asked first for names and files of other servers, if the client accepts
    /// leases. Default: none.
    pub contact: Option<ServerId>,
    /// How long the contact server may take to answer; the client asks others after that. Default:
    /// 1 s.
    pub contact_timeout: Duration,
    /// How much data of one read or write is under way at a time beside the part at the home of the
    /// file, in bytes. At least two chunks are; 0 for one chunk at a time. Default: 4 MiB.
    pub transfer_bytes_max: usize,
    /// How long another client that is asked for data from its cache may be silent; the servers are
    /// asked after that. Default: 0.5 s.
    pub cache_timeout: Duration,
    /// Files of fewer bytes are read from the servers alone. Default: 256 KiB.
    pub shared_bytes_min: u64,
    /// How often a cached block that probably no other client has passes to another client instead
    /// of being evicted: the *n* of N-chance forwarding (Dahlin, Wang, Anderson and Patterson,
    /// *Cooperative Caching*, OSDI 1994). Default: 0, which is their greedy forwarding.
    pub chances: u8,
    /// Whether sums protect what clients read from each other. Default: yes.
    pub copy_sums: bool,
    /// Whether `fsync` has the servers make a file survive a loss of power. Default: no, as for
    /// servers without a disk, or those that confirm nothing else.
    pub durable_fsync: bool,
}

impl Config {
    /// The size of the blocks in which data is cached, in bytes.
    pub const DATA_BLOCK_BYTES: u32 = BLOCK_BYTES;
}

impl Default for Config {
    fn default() -> Self {
        Self {
            chunk_bytes: 1 << 20,
            retry: Duration::from_secs(30),
            pause_min: Duration::from_millis(1),
            pause_max: Duration::from_millis(100),
            directories_max: 4096,
            files_max: 16_384,
            lease_trust: None,
            leases_max: 262_144,
            names_max: 1 << 20,
            listed_at_once: 1024,
            data_bytes_max: 64 << 20,
            dirty_bytes_max: 32 << 20,
            exclusive_after: 4,
            contact: None,
            contact_timeout: Duration::from_secs(1),
            transfer_bytes_max: 4 << 20,
            cache_timeout: Duration::from_millis(500),
            shared_bytes_min: 256 << 10,
            chances: 0,
            copy_sums: true,
            durable_fsync: false,
        }
    }
}
