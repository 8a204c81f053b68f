//! The directory in which the servers of a cluster keep what they have.
//!
//! The host of `futago up` has the cluster file there, too. The next `up` with the directory makes
//! the same cluster of it: its number and key, and how its partitions are dealt out. Where servers
//! are reached may change.

use crate::output;
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

/// A directory of a cluster that lasts no longer than the process of `futago up`. It is removed
/// with this value.
#[derive(Debug)]
pub struct Discarded(PathBuf);

impl Discarded {
    /// Makes it, open to this user alone.
    ///
    /// # Errors
    /// If it is there already, or cannot be made.
    pub fn make(directory: &Path) -> anyhow::Result<Self> {
        let made = fs::DirBuilder::new().mode(0o700).create(directory);
        made.with_context(|| format!("making {}", directory.display()))?;
        Ok(Self(std::path::absolute(directory)?))
    }
}

impl Drop for Discarded {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            let place = self.0.display();
            output::notice(format_args!("futago: {place} is left behind: {error}"));
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discarded_directory_is_removed_with_all_that_is_in_it_and_was_not_there_before() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("data");
        let discarded = Discarded::make(&directory).unwrap();
        fs::create_dir(directory.join("server-0")).unwrap();
        fs::write(directory.join("server-0/log"), "log").unwrap();
        let error = Discarded::make(&directory).unwrap_err();
        assert!(error.to_string().contains("data"), "{error:#}");
        assert!(directory.join("server-0/log").exists());
        drop(discarded);
        assert!(!directory.exists());
    }
}
