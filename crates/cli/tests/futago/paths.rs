//! Paths of clusters and mounts may be any.

use crate::common::futago;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// A directory with a name that needs care, and a command on the cluster in it.
struct Place {
    directory: PathBuf,
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn run(&self, arguments: &[&str], paths: &[PathBuf]) -> String {
        let mut command = futago();
        command.args(arguments).args(paths);
        if arguments[0] != "umount" {
            command.arg("--cluster").arg(self.path("c.toml"));
        }
        let output = command.assert().success().get_output().clone();
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn clusters_and_mounts_may_have_any_path() {
    if !Path::new("/dev/fuse").exists() {
        return println!("skipped: /dev/fuse is missing");
    }
    for name in [
        &b"with a space"[..],
        b"new\nline",
        b"tab\t\\040",
        b"bad\xff",
        b"-o",
    ] {
        let parent = tempfile::tempdir().unwrap();
        let place = Place {
            directory: parent.path().join(OsStr::from_bytes(name)),
        };
        let point = place.path("mount");
        std::fs::create_dir_all(&point).unwrap();
        let mounts = std::slice::from_ref(&point);
        place.run(&["up", "--memory", "256MiB"], &[]);
        assert!(place.run(&["status"], &[]).contains(": up"));
        let mounted = place.run(&["mount", "--json"], mounts);
        assert!(serde_json::from_str::<serde_json::Value>(&mounted).is_ok());
        std::fs::write(point.join("file"), b"there").unwrap();
        place.run(&["umount"], mounts);
        assert!(!point.join("file").exists());
        place.run(&["mount"], mounts);
        assert!(point.join("file").exists());
        place.run(&["down"], &[]);
        assert!(!point.join("file").exists());
        assert!(!place.path("c.toml").exists());
    }
}

/// Starts what follows in a network of its own, in which it may listen at every address.
const OWN_NETWORK: &str = "#!/bin/sh\n\
    exec unshare --user --map-root-user --net -- \
    sh -c 'echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind && exec \"$@\"' sh \"$@\"\n";

#[test]
fn a_server_that_clients_cannot_reach_is_not_ready() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    crate::common::write(&path("launch"), OWN_NETWORK.as_bytes());
    crate::common::write(&path("hosts"), b"127.0.0.1\n");
    let can_be_tried = std::process::Command::new("sh")
        .arg(path("launch"))
        .arg("true")
        .status();
    if !can_be_tried.is_ok_and(|status| status.success()) {
        return println!("skipped: this host forbids network namespaces");
    }
    let port = crate::common::free_port();
    let launcher = format!("env HOST={{host}} sh {}", path("launch").display());
    let mut up = futago();
    up.args([
        "up",
        "--memory",
        "256MiB",
        "--launcher",
        &launcher,
        "--port",
        &port,
    ]);
    up.arg("--hosts").arg(path("hosts"));
    let refused = up.arg("--cluster").arg(path("c.toml")).assert().code(3);
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    let told = format!("futago: tcp:127.0.0.1:{port}: ");
    assert!(
        error.starts_with(&told) && error.contains("refused"),
        "{error}"
    );
    assert!(!path("c.toml").exists());
}

#[test]
fn a_server_that_cannot_listen_tells_its_address_and_the_cause_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    crate::common::write(&path("hosts"), b"127.0.0.1\n");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut up = futago();
    up.args([
        "up",
        "--memory",
        "256MiB",
        "--launcher",
        "env HOST={host}",
        "--port",
        &port,
    ]);
    up.arg("--hosts").arg(path("hosts"));
    let refused = up.arg("--cluster").arg(path("c.toml")).assert().code(3);
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    let first = error.lines().next().unwrap();
    let address = format!("tcp:127.0.0.1:{port}: ");
    assert!(
        first.contains(&address) && first.contains("in use"),
        "{error}"
    );
}
