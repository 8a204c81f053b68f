//! A mount that was stopped for longer than a lease has lost what it held.

use crate::common::{Cluster, Stopped};
use rustix::fs::{FlockOperation, fcntl_lock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// An offset beyond the first chunk: a write there goes to another server than the one of the
/// locks.
const FAR: u64 = 1 << 20;

fn mount(cluster: &Cluster, name: &str) -> PathBuf {
    let point = cluster.path(name);
    fs::create_dir(&point).unwrap();
    let mount = cluster.command(&["mount"]).arg(&point).assert();
    mount.success();
    point
}

fn open(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).unwrap()
}

fn is_stale<T: std::fmt::Debug>(result: &io::Result<T>) -> bool {
    let error = result.as_ref().err().and_then(io::Error::raw_os_error);
    error == Some(libc::ESTALE)
}

#[test]
fn a_stopped_mount_writes_nothing_when_another_mount_has_its_locks() {
    if !Path::new("/dev/fuse").exists() {
        return;
    }
    let cluster = Cluster::up(&["--servers", "2"]);
    let (first, second) = (mount(&cluster, "first"), mount(&cluster, "second"));
    let (whole, ranges) = (open(&first.join("whole")), open(&first.join("ranges")));
    whole.lock().unwrap();
    fcntl_lock(&ranges, FlockOperation::LockExclusive).unwrap();
    for file in [&whole, &ranges] {
        file.write_all_at(b"the first owner's", 0).unwrap();
        file.write_all_at(b"the first owner's", FAR).unwrap();
    }

    let stopped = Stopped::mount(&first);
    let (next_whole, next_ranges) = (open(&second.join("whole")), open(&second.join("ranges")));
    next_whole.lock().unwrap();
    fcntl_lock(&next_ranges, FlockOperation::LockExclusive).unwrap();
    for file in [&next_whole, &next_ranges] {
        file.write_all_at(b"the next owner's ", 0).unwrap();
        file.write_all_at(b"the next owner's ", FAR).unwrap();
    }
    drop(stopped);

    for (old, name) in [(&whole, "whole"), (&ranges, "ranges")] {
        let mut found = [0; 17];
        assert!(is_stale(&old.write_at(b"the first owner's", FAR)), "{name}");
        assert!(is_stale(&old.write_at(b"the first owner's", 0)), "{name}");
        assert!(is_stale(&old.read_at(&mut found, 0)), "{name}");
        for place in [0, FAR] {
            for mount in [&first, &second] {
                open(&mount.join(name))
                    .read_exact_at(&mut found, place)
                    .unwrap();
                assert_eq!(&found, b"the next owner's ", "{name} at {place}");
            }
        }
    }
}
