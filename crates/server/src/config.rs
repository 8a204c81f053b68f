//! The settings of a server.

use futago_base::Duration;

/// The settings of a server; all servers of a cluster have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long an undecided transaction may keep others waiting before they abort it.
    pub grace: Duration,
    /// A client that was not heard of for this long has lost its locks and open files.
    pub lease: Duration,
    /// How long after a recall nobody gets a lease on the node.
    pub lease_pause: Duration,
    /// The most leases that a client may have on one server.
    pub leases_max: u32,
    /// How often the driver gives [`Input::Tick`](crate::Input::Tick).
    pub tick: Duration,
    /// How long after an unconfirmed message to another server it is sent again.
    pub resend: Duration,
    /// A bucket with more entries than this splits.
    pub split_entries: u64,
    /// Directories up to this far below the root are spread over the cluster; deeper ones are born
    /// beside their entry.
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
            leases_max: 65_536,
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
