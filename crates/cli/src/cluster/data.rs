//! The directory in which the servers of a cluster keep what they have.
//!
//! The host of `futago up` has the cluster file there, too. The next `up` with the directory makes
//! the same cluster of it: its number and key, and how its partitions are dealt out. Where servers
//! are reached may change.

use anyhow::{Context, ensure};
use futago_node::Cluster;
use std::{
    fs::{self, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// The cluster file within the directory.
const CLUSTER_FILE: &str = "cluster.toml";

/// Makes the directory, unless it is there, open to this user alone. Returns its absolute path.
///
/// # Errors
/// If it cannot be made, or its path is not text.
pub fn make(directory: &Path) -> anyhow::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(directory);
    made.with_context(|| format!("making {}", directory.display()))?;
    let found = fs::canonicalize(directory);
    let directory = found.with_context(|| format!("opening {}", directory.display()))?;
    let place = directory.display();
    ensure!(directory.to_str().is_some(), "{place} is not UTF-8");
    Ok(directory)
}

/// Makes a new cluster the one whose data is in the directory, if there is one. Returns that one.
///
/// # Errors
/// If its file cannot be read.
pub fn take_over(cluster: &mut Cluster, directory: &Path) -> anyhow::Result<Option<Cluster>> {
    let path = directory.join(CLUSTER_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let earlier = Cluster::load(&path)?;
    cluster.id = earlier.id;
    cluster.key = earlier.key.clone();
    // Clients of the earlier processes find the servers where they are now.
    cluster.epoch = earlier.epoch.saturating_add(1);
    cluster.policy = earlier.policy;
    cluster.partitions = earlier.partitions;
    cluster.chunk_bytes = earlier.chunk_bytes;
    Ok(Some(earlier))
}

/// Notes in the directory which cluster it belongs to.
///
/// # Errors
/// If it belongs to one with another number of servers, or cannot be written.
pub fn note(cluster: &Cluster, directory: &Path) -> anyhow::Result<()> {
    let path = directory.join(CLUSTER_FILE);
    if path.exists() {
        let (earlier, asked) = (Cluster::load(&path)?.servers.len(), cluster.servers.len());
        let place = directory.display();
        ensure!(
            earlier == asked,
            "{place} has the data of {earlier} server(s), and {asked} are asked for"
        );
    }
    cluster.replace(&path)?;
    let synchronized = File::open(directory).and_then(|directory| directory.sync_all());
    synchronized.with_context(|| format!("synchronizing {}", directory.display()))
}
