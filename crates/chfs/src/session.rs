//! The connection of the process.

use crate::{
    log,
    settings::{self, Settings},
};
use futago_node::{Cluster, Options};
use futago_posix::{outcome::error, process};
use std::{
    io,
    path::Path,
    sync::atomic::{AtomicI32, Ordering},
};

/// The number of servers of the cluster; 0 without a connection.
static SERVERS: AtomicI32 = AtomicI32::new(0);

/// Connects to the cluster of a file, unless the process is connected.
///
/// # Errors
/// `EINVAL` without a cluster file, otherwise the reason why it cannot be used, which is also
/// reported.
pub fn begin(server: Option<&[u8]>) -> io::Result<()> {
    if process::is_connected() {
        return Ok(());
    }
    log::start();
    settings::change(Settings::read_environment);
    let Some(file) = settings::cluster_file(server) else {
        tracing::error!("chfs_init: CHFS_SERVER names no cluster file");
        return Err(error(libc::EINVAL));
    };
    connect(&file).inspect_err(|failed| tracing::error!("chfs_init: {failed}"))
}

fn connect(file: &Path) -> io::Result<()> {
    let settings = settings::current();
    let mut cluster = Cluster::load(file).map_err(io::Error::other)?;
    if let Some(give_up) = settings.give_up {
        cluster.limits.give_up_seconds = give_up.as_secs_f64();
    }
    let mut options = Options {
        leases: true,
        ..Options::default()
    };
    if !settings.is_buffered {
        options.client.dirty_bytes_max = 0;
    }
    process::connect(&cluster, options)?;
    SERVERS.store(cluster.servers.len() as i32, Ordering::Relaxed);
    Ok(())
}

/// Closes all files and ends the session.
///
/// # Errors
/// Data of a file is lost.
pub fn end() -> io::Result<()> {
    SERVERS.store(0, Ordering::Relaxed);
    process::disconnect()
}

/// The number of servers; 0 without a connection.
pub fn servers() -> i32 {
    SERVERS.load(Ordering::Relaxed)
}
