//! What a client can be told.

use futago_base::Duration;

/// A client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes a chunk of new files. Default: 1 MiB.
    pub chunk_bytes: u32,
    /// How long an operation tries again when others keep getting in its way, before it fails with
    /// `EBUSY` or `EIO`. Default: 30 s.
    pub retry: Duration,
    /// The first pause before trying again; it doubles up to [`Config::pause_max`]. Default: 1 ms.
    pub pause_min: Duration,
    /// The longest pause before trying again. Default: 100 ms.
    pub pause_max: Duration,
    /// How many directories' buckets are remembered. Default: 4,096.
    pub directories_max: usize,
    /// How many files' layouts are remembered. Default: 16,384.
    pub files_max: usize,
    /// How long after a request that its server has answered the client relies on the leases that it has there;
    /// `None` if it takes none. It must be shorter than the servers' lease by an eighth of it and by as much as clocks
    /// may differ. Default: none.
    pub lease_trust: Option<Duration>,
    /// How many nodes are kept under leases. Default: 16,384.
    pub leases_max: usize,
    /// How many names are kept under leases. Default: 65,536.
    pub names_max: usize,
    /// How much of files' data is kept under leases, in bytes. Default: 64 MiB.
    pub data_bytes_max: u64,
    /// How much of what is written under exclusive leases is kept before it is sent, in bytes; 0 to send all at once.
    /// Default: 32 MiB.
    pub unsent_bytes_max: u64,
    /// With which small write to a file the client asks for an exclusive lease, counted from when it took a lease on it.
    /// Default: the fourth.
    pub exclusive_after: u32,
}

impl Config {
    /// Data is kept in blocks of so many bytes.
    pub const DATA_BLOCK_BYTES: u32 = 64 << 10;
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
            leases_max: 16_384,
            names_max: 65_536,
            data_bytes_max: 64 << 20,
            unsent_bytes_max: 32 << 20,
            exclusive_after: 4,
        }
    }
}
