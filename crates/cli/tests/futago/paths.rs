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
        assert!(place.run(&["status"], &[]).contains(" up "));
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

/// Starts what follows where everybody else is.
const SHARED_NETWORK: &str = "#!/bin/sh\nexec \"$@\"\n";

/// A host of its own by a launcher that can be changed.
struct LaunchedHost {
    directory: tempfile::TempDir,
    port: String,
}

impl LaunchedHost {
    /// `None`, with a word about why, where there are no networks of one's own.
    fn new() -> Option<Self> {
        let host = Self {
            directory: tempfile::tempdir().unwrap(),
            port: crate::common::free_port(),
        };
        host.launch_by(OWN_NETWORK);
        crate::common::write(&host.path("hosts"), b"127.0.0.1\n");
        let mut launch = std::process::Command::new("sh");
        let tried = launch.arg(host.path("launch")).arg("true").status();
        if !tried.is_ok_and(|status| status.success()) {
            println!("skipped: this host forbids network namespaces");
            return None;
        }
        Some(host)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn launch_by(&self, script: &str) {
        crate::common::write(&self.path("launch"), script.as_bytes());
    }

    /// The option of `up` for it.
    fn arguments(&self) -> Vec<String> {
        let launcher = format!("env HOST={{host}} sh {}", self.path("launch").display());
        let hosts = self.path("hosts").display().to_string();
        let arguments = [
            "--launcher",
            &launcher,
            "--port",
            &self.port,
            "--hosts",
            &hosts,
        ];
        arguments.map(str::to_owned).to_vec()
    }

    /// The command reports that no server listens there for clients.
    fn assert_refused(&self, command: assert_cmd::assert::Assert) {
        let refused = command.code(3);
        let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        let expected = format!("futago: tcp:127.0.0.1:{}: ", self.port);
        assert!(
            error.starts_with(&expected) && error.contains("refused"),
            "{error}"
        );
    }
}

#[test]
fn a_server_that_clients_cannot_reach_is_not_ready() {
    let Some(host) = LaunchedHost::new() else {
        return;
    };
    let cluster_file = host.path("c.toml");
    let mut up = futago();
    up.args(["up", "--memory", "256MiB", "--cluster"]);
    up.arg(&cluster_file).args(host.arguments());
    host.assert_refused(up.assert());
    assert!(!cluster_file.exists());
}

#[test]
fn a_server_that_cannot_be_reached_any_more_is_not_ready_again() {
    let Some(host) = LaunchedHost::new() else {
        return;
    };
    host.launch_by(SHARED_NETWORK);
    let arguments = host.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let cluster = crate::common::Cluster::up(&arguments);
    cluster.kill(0);
    host.launch_by(OWN_NETWORK);
    host.assert_refused(cluster.command(&["restart", "--server", "0"]).assert());
    host.launch_by(SHARED_NETWORK);
    assert_eq!(cluster.json(&["restart", "--server", "0"]).0, 0);
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
