//! The directory of a running cluster on one host: sockets, logs, process records. Nobody else may
//! look into it.

use anyhow::{Context, ensure};
use futago_node::Cluster;
use rustix::process::geteuid;
use std::{
    fs::{self, DirBuilder, Metadata},
    io::{self, Write},
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

/// Removes the directory with the files of the cluster's processes. Other files stay, and so does
/// the directory then.
///
/// # Errors
/// There are other files, or the directory belongs to another user.
pub fn remove(path: &Path) -> anyhow::Result<()> {
    if !path.try_exists()? {
        return Ok(());
    }
    ensure_own(path)?;
    for file in fs::read_dir(path)? {
        let file = file?;
        if is_of_cluster(file.file_name().as_encoded_bytes()) {
            remove_file(&file.path())?;
        }
    }
    fs::remove_dir(path)?;
    Ok(())
}

/// A process that ends removes its record itself.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The names of the files that a cluster's processes make: the parts before and after a number.
const FILES: [(&str, &str); 12] = [
    ("", ".sock"),
    ("backing-", ".log"),
    ("backing-", ".process"),
    ("backing-", ".sock"),
    ("backing-", ".state"),
    ("cluster-", ".toml"),
    ("launcher-", ".process"),
    ("mount-", ".process"),
    ("mount-of-", ".log"),
    ("server-", ".command"),
    ("server-", ".log"),
    ("server-", ".process"),
];

fn is_of_cluster(name: &[u8]) -> bool {
    // A process that was killed may leave a file that it was about to put in place.
    name.starts_with(TEMPORARY.as_bytes()) || FILES.iter().any(|parts| is_numbered(name, *parts))
}

fn is_numbered(name: &[u8], (before, after): (&str, &str)) -> bool {
    let rest = name.strip_prefix(before.as_bytes());
    let number = rest.and_then(|rest| rest.strip_suffix(after.as_bytes()));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// The beginning of the names of temporary files.
const TEMPORARY: &str = ".futago-";

/// Replaces a file of the directory in one step. Only its owner may read it.
pub fn put(directory: &Path, name: &str, contents: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)?;
    file.write_all(contents)?;
    file.persist(directory.join(name))?;
    Ok(())
}

fn check(path: &Path) -> anyhow::Result<()> {
    let metadata = ensure_own(path)?;
    ensure!(
        metadata.mode() & 0o077 == 0,
        "the runtime directory {} is open to others; close it with chmod 700",
        path.display()
    );
    Ok(())
}

fn ensure_own(path: &Path) -> anyhow::Result<Metadata> {
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
    Ok(metadata)
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

    #[test]
    fn only_files_of_the_cluster_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("futago-x");
        make(&path).unwrap();
        for (before, after) in FILES {
            put(&path, &format!("{before}17{after}"), b"").unwrap();
        }
        put(&path, "notes-17.log", b"").unwrap();
        assert!(remove(&path).is_err());
        let left: Vec<_> = fs::read_dir(&path).unwrap().flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].file_name(), "notes-17.log");
        fs::remove_file(left[0].path()).unwrap();
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
    }
}
