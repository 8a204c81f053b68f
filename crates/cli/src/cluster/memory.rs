//! How much memory servers take of this host.

use crate::output;
use anyhow::{Context, ensure};
use futago_node::Cluster;
use futago_store::available_memory_bytes;

/// The memory of each server of a process, in bytes: from the cluster file, or a share of the free
/// memory.
///
/// # Errors
/// If this host does not tell how much it has, or has less than the cluster file says.
pub fn of_each_server(cluster: &Cluster, process: u32) -> anyhow::Result<u64> {
    let bytes = match cluster.limits.memory_bytes {
        0 => share(cluster, process)
            .context("this host does not tell how much memory it has; say --memory")?,
        bytes => bytes,
    };
    let servers = cluster.servers_of_process(process).len();
    ensure_available(bytes.saturating_mul(servers as u64))?;
    Ok(bytes)
}

/// Refuses what the kernel would end servers for.
///
/// # Errors
/// If this host has less left.
pub fn ensure_available(wanted_bytes: u64) -> anyhow::Result<()> {
    let Some(available_bytes) = available_memory_bytes() else {
        return Ok(());
    };
    ensure!(
        wanted_bytes <= available_bytes,
        "--memory asks for {} of this host, which has {} left (limits of control groups count); ask for less",
        output::size(wanted_bytes),
        output::size(available_bytes)
    );
    Ok(())
}

/// Half of what this host and the control group leave, divided among the servers on this host.
fn share(cluster: &Cluster, process: u32) -> Option<u64> {
    let host = cluster
        .servers
        .iter()
        .find(|server| server.process == process)
        .and_then(|server| server.host.as_ref());
    let neighbours = cluster
        .servers
        .iter()
        .filter(|server| server.host.as_ref() == host);
    let available = available_memory_bytes()?;
    Some(available / 2 / neighbours.count().max(1) as u64)
}
