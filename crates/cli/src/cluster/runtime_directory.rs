//! The directory of a running cluster on one host: sockets, logs, process records. Nobody else may
//! look into it.

use anyhow::{Context, ensure};
use futago_node::Cluster;
use rustix::process::geteuid;
use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Where a new cluster keeps its files: below `$XDG_RUNTIME_DIR` if that is there and the cluster
/// is on this host only, else below `/tmp`, which every host has.
pub fn choose(id: &str, this_host_only: bool) -> PathBuf {
    let private = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| this_host_only && path.is_absolute() && path.is_dir())
        // The cluster file is text and names it.
        .filter(|path| path.to_str().is_some());
    match private {
        Some(directory) => directory.join(format!("futago-{id}")),
        None => PathBuf::from(format!("/tmp/futago-{}-{id}", geteuid().as_raw())),
    }
}

/// The directory of a cluster.
pub fn of(cluster: &Cluster) -> PathBuf {
    let id = String::from(cluster.id);
    cluster
        .runtime_directory
        .clone()
        .unwrap_or_else(|| choose(&id, false))
}

/// Makes the directory, or checks that it is ours alone.
pub fn make(path: &Path) -> anyhow::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(path),
        other => other.with_context(|| format!("making the runtime directory {}", path.display())),
    }
}

fn check(path: &Path) -> anyhow::Result<()> {
    let metadata = fs::symlink_metadata(path)
        .with_context(|| format!("looking at the runtime directory {}", path.display()))?;
    let (owner, path) = (metadata.uid(), path.display());
    ensure!(
        metadata.is_dir(),
        "the runtime directory {path} is no directory"
    );
    ensure!(
        owner == geteuid().as_raw(),
        "the runtime directory {path} belongs to user {owner}, whose cluster this is; be that user"
    );
    ensure!(
        metadata.mode() & 0o077 == 0,
        "the runtime directory {path} is open to others; close it with chmod 700"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_that_others_may_enter_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("futago-x");
        make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        make(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make(&path).is_err());
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(parent.path(), &link).unwrap();
        assert!(make(&link).is_err());
    }
}
