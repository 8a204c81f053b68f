//! Which directories a mount may cover.

use super::{mounts, runtime_directory};
use anyhow::{Context, ensure};
use clap::Args;
use futago_node::Cluster;
use futago_transport::Address;
use procfs::process::{MMapPath, Process};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Paths that mounts need on every host: devices, processes, and the resolution of host names.
const OF_THE_HOST: [&str; 3] = ["/dev/fuse", "/proc/self", "/etc/resolv.conf"];

/// Permissions for an unusual mount point.
#[derive(Args, Clone, Copy, Debug)]
pub struct Permission {
    /// Mount over a directory that is not empty; its entries are hidden until the mount is taken
    /// away.
    #[arg(long)]
    allow_non_empty: bool,
}

impl Permission {
    /// The same permission, for the process that serves the mount.
    pub fn arguments(self) -> Option<OsString> {
        self.allow_non_empty.then(|| "--allow-non-empty".into())
    }

    /// The directory as the kernel's table has it, if a mount of `cluster` may cover it.
    ///
    /// # Errors
    /// If the directory is not there, is mounted already or is not empty, and if it holds what the
    /// mount's own process needs: that would wait for itself for ever.
    pub fn check(
        self,
        directory: &Path,
        cluster: &Cluster,
        cluster_file: &Path,
    ) -> anyhow::Result<PathBuf> {
        let path = mounts::absolute(directory)?;
        ensure!(
            !mounts::is_mounted(&path),
            "a Futago file system is mounted at {} already; futago umount takes it away",
            path.display()
        );
        ensure!(
            path.is_dir(),
            "{} is no directory; make it first",
            path.display()
        );
        ensure_hides_nothing(&path, cluster, cluster_file)?;
        ensure!(
            self.allow_non_empty || is_empty(&path)?,
            "{} is not empty; take another directory, or add --allow-non-empty to hide what is in it",
            path.display()
        );
        Ok(path)
    }
}

fn is_empty(directory: &Path) -> anyhow::Result<bool> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("looking into {}", directory.display()))?;
    Ok(entries.take(1).count() == 0)
}

fn ensure_hides_nothing(path: &Path, cluster: &Cluster, cluster_file: &Path) -> anyhow::Result<()> {
    let runtime = resolved(&runtime_directory::of(cluster));
    ensure!(
        !path.starts_with(&runtime),
        "{} lies in the cluster's runtime directory, which is removed with the cluster",
        path.display()
    );
    let mut needed = BTreeSet::from([
        (runtime, "the cluster's runtime directory"),
        (resolved(cluster_file), "the cluster file"),
    ]);
    needed.extend(OF_THE_HOST.map(|file| (resolved(Path::new(file)), "what every mount needs,")));
    needed.extend(sockets(cluster).map(|socket| (resolved(socket), "the server's socket")));
    needed.extend(code().map(|file| (file, "the program's code")));
    for (file, what) in needed {
        ensure!(
            !file.starts_with(path),
            "a mount at {} would hide {what} {}, and wait for itself for ever; take another directory",
            path.display(),
            file.display()
        );
    }
    Ok(())
}

fn sockets(cluster: &Cluster) -> impl Iterator<Item = &Path> {
    let addresses = cluster.servers.iter().map(|server| &server.address);
    addresses.filter_map(|address| match address {
        Address::Unix(socket) => Some(socket.as_path()),
        Address::Tcp(_) => None,
    })
}

/// The program and its libraries.
fn code() -> impl Iterator<Item = PathBuf> {
    let maps = Process::myself().and_then(|process| process.maps());
    let maps = maps.map(|maps| maps.0).unwrap_or_default();
    maps.into_iter().filter_map(|map| match map.pathname {
        MMapPath::Path(file) => Some(file),
        _ => None,
    })
}

/// A path without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = whole.ancestors().find_map(|above| {
        let rest = whole.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    found.unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_node::ServerEntry;

    /// A cluster whose files lie in a directory.
    fn cluster(directory: &Path) -> Cluster {
        let socket = Address::Unix(directory.join("sockets/0.sock"));
        let server = ServerEntry {
            address: socket,
            host: None,
            process: 0,
        };
        let mut cluster = Cluster::new("c", vec![server]).unwrap();
        cluster.runtime_directory = Some(directory.join("run"));
        cluster
    }

    #[test]
    fn a_mount_hides_nothing_that_it_needs() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().canonicalize().unwrap();
        let inside = |name: &str| {
            fs::create_dir_all(parent.join(name)).unwrap();
            parent.join(name)
        };
        let cluster = cluster(&parent);
        let file = inside("files").join("c.toml");
        let link = parent.join("link");
        std::os::unix::fs::symlink(inside("run"), &link).unwrap();
        let linked = link.join("c.toml");
        let check = |path: &Path, file: &Path| ensure_hides_nothing(path, &cluster, file);
        for hidden in [
            &*parent,
            &inside("sockets"),
            &inside("run"),
            &inside("files"),
        ] {
            assert!(check(hidden, &file).is_err(), "{}", hidden.display());
        }
        for host in ["/", "/dev", "/proc", "/etc"] {
            assert!(check(Path::new(host), &file).is_err(), "{host}");
        }
        let program = std::env::current_exe().unwrap();
        assert!(check(program.parent().unwrap(), &file).is_err());
        assert!(check(&inside("run/below"), &file).is_err());
        assert!(check(&inside("run"), &linked).is_err());
        assert!(check(&inside("mount"), &file).is_ok());
    }
}
