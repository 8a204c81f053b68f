//! Servers: receive, decide, commit, release.

use crate::Cluster;
use futago_base::ServerId;
use std::{io, net::SocketAddr};

/// What a server process needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster.
    pub cluster: Cluster,
    /// The servers that this process hosts, one thread each.
    pub servers: Vec<ServerId>,
    /// Where to offer Prometheus metrics, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Whether to accept requests that plant damage: only for tests.
    pub allow_damage: bool,
}

/// Serves until SIGTERM or SIGINT. Calls `ready` once, when every server of the process listens.
///
/// # Errors
/// An address that cannot be listened on, or a thread that cannot be started.
pub fn run(_config: Config, _ready: impl FnOnce()) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
