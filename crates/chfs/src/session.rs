//! The connection of the process.

use crate::{
    log,
    settings::{self, Settings},
};
use futago_node::Options;
use futago_posix::{cluster_file, process};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

/// The cluster file, and the addresses of the servers; empty without a connection.
static CLUSTER: RwLock<(PathBuf, Vec<String>)> = RwLock::new((PathBuf::new(), Vec::new()));

/// Connects to the cluster of a file, unless the process is connected.
///
/// # Errors
/// `InvalidInput` without a cluster file, otherwise the reason why it cannot be used.
pub fn begin(server: Option<&[u8]>) -> io::Result<()> {
    if process::is_connected() {
        return Ok(());
    }
    log::start();
    settings::change(Settings::read_environment);
    let Some(file) = settings::cluster_file(server) else {
        let missing = "CHFS_SERVER names no cluster file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, missing));
    };
    connect(&file)
}

fn connect(file: &Path) -> io::Result<()> {
    let settings = settings::current();
    let mut cluster = cluster_file::load(file)?;
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
    let addresses = cluster
        .servers
        .iter()
        .map(|server| server.address.to_string());
    set_cluster(file.to_owned(), addresses.collect());
    Ok(())
}

/// Closes all files and ends the session.
///
/// # Errors
/// Data of a file is lost.
pub fn end() -> io::Result<()> {
    set_cluster(PathBuf::new(), Vec::new());
    process::disconnect()
}

/// The file of the cluster; an empty path without a connection.
pub fn cluster_file() -> PathBuf {
    cluster().0.clone()
}

/// The addresses of the servers, by number; none without a connection.
pub fn addresses() -> Vec<String> {
    cluster().1.clone()
}

fn cluster() -> RwLockReadGuard<'static, (PathBuf, Vec<String>)> {
    // It is replaced as a whole, also before a panic.
    CLUSTER.read().unwrap_or_else(PoisonError::into_inner)
}

fn set_cluster(file: PathBuf, addresses: Vec<String>) {
    *CLUSTER.write().unwrap_or_else(PoisonError::into_inner) = (file, addresses);
}
