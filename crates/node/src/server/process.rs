//! A process that hosts one or more servers.

use super::{Servers, pages};
use crate::Cluster;
use futago_base::{Duration, ServerId};
use std::{io, path::Path};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

/// The configuration of a server process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster.
    pub cluster: Cluster,
    /// The servers that this process hosts. They share only threads and connections. There is at
    /// most one thread for every two cores, because a thread that polls without success delays
    /// threads with work.
    pub servers: Vec<ServerId>,
    /// The memory for records and data of each of them, in bytes.
    pub memory_bytes: u64,
    /// The owner of the root directory, as (user, group).
    pub root_owner: (u32, u32),
}

impl Config {
    pub(super) fn core(&self) -> futago_server::Config {
        futago_server::Config {
            root_uid: self.root_owner.0,
            root_gid: self.root_owner.1,
            ..futago_server::Config::default()
        }
    }
}

/// Serves until SIGTERM or SIGINT, until a server has panicked, or until the cluster file has no
/// servers for this process any more. Calls `ready` once, when every server of the process listens.
///
/// SIGHUP says that the cluster file has been replaced: servers that are new in it for this process
/// are adopted, and those that it does not name any more are released.
///
/// # Errors
/// Those of [`Servers::start`] and [`Servers::stop`].
pub fn run(config: &Config, cluster_file: &Path, ready: impl FnOnce()) -> io::Result<()> {
    pages::keep_small();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // A signal that arrives during the start is handled after it.
        let hang_up = signal(SignalKind::hangup())?;
        let mut servers = Servers::start(config)?;
        let mut signals = Signals::with(hang_up)?;
        ready();
        // The file may have been replaced before signals were awaited.
        renew(&mut servers, cluster_file);
        signals.handle(&mut servers, cluster_file).await;
        servers.stop()
    })
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn with(hang_up: Signal) -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up,
        })
    }

    /// Returns when the servers are to stop.
    async fn handle(&mut self, servers: &mut Servers, cluster_file: &Path) {
        while !servers.is_empty() {
            tokio::select! {
                _ = self.terminate.recv() => return tracing::info!("SIGTERM: stopping"),
                _ = self.interrupt.recv() => return tracing::info!("SIGINT: stopping"),
                _ = self.hang_up.recv() => renew(servers, cluster_file),
                // The thread has logged why.
                () = servers.ended() => return tracing::warn!("a server has ended: stopping"),
            }
        }
        tracing::info!("no servers are left: stopping");
    }
}

/// Has the servers of this process be those of the cluster file.
fn renew(servers: &mut Servers, cluster_file: &Path) {
    let renewed = Cluster::load(cluster_file)
        .map_err(io::Error::other)
        .and_then(|cluster| servers.renew(&cluster));
    if let Err(error) = renewed {
        tracing::error!(%error, "the servers stay as they are");
    }
}

/// Converts a span to the standard library's type.
pub fn std_duration(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.0)
}
