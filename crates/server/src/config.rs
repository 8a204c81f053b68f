//! The settings of a server.

use futago_base::Duration;

/// The settings of a server; all servers of a cluster have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// After this time, other clients may abort an undecided transaction.
    pub grace: Duration,
    /// A client that sends nothing for this long loses its locks and open files.
    pub lease: Duration,
    /// For this long after a recall, the server grants no lease on the node.
    pub lease_pause: Duration,
    /// The most leases that a client may hold on one server.
    pub leases_max: u32,
    /// The most locks on one file. A change of a lock takes time proportional to their number.
    pub file_locks_max: usize,
    /// The interval at which the driver sends [`Input::Tick`](crate::Input::Tick).
    pub tick: Duration,
    /// The server resends a message to another server when it is not confirmed after this time.
    pub resend: Duration,
    /// A bucket with more entries than this splits.
    pub split_entries: u64,
    /// Directories up to this depth below the root are spread over the cluster. Deeper ones are
    /// created on the server of their entry.
    pub spread_depth: u16,
    /// Permission bits of the root directory.
    pub root_mode: u16,
    /// Owner of the root directory.
    pub root_uid: u32,
    /// Group of the root directory.
    pub root_gid: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(2),
            lease: Duration::from_secs(20),
            lease_pause: Duration::from_secs(1),
            file_locks_max: 16_384,
            leases_max: 524_288,
            tick: Duration::from_millis(100),
            resend: Duration::from_millis(200),
            split_entries: 512,
            spread_depth: 2,
            root_mode: 0o755,
            root_uid: 0,
            root_gid: 0,
        }
    }
}
