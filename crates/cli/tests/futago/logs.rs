//! Logs that cannot be written end neither a server nor a mount.

use crate::common::{Cluster, closed, full, futago};
use futago_node::{Cluster as Description, ServerEntry};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A process that is killed with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts a process that logs everything, and waits until it says that it is ready.
    fn start(format: &str, arguments: &[&str], errors: Stdio) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_futago"))
            .args(["--log-format", format])
            .args(arguments)
            .env("FUTAGO_LOG", "trace")
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut running = Self(child);
        let said = running.0.stdout.take().unwrap();
        let mut lines = BufReader::new(said).lines();
        let ready = lines.any(|line| line.is_ok_and(|line| line.contains("futago: ready")));
        assert!(ready, "{arguments:?} ended before it was ready");
        running
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

/// A cluster file of one server that nobody has started.
fn describe(directory: &Path) -> std::path::PathBuf {
    let entry = ServerEntry {
        address: format!("unix:{}/0.sock", directory.display())
            .parse()
            .unwrap(),
        host: None,
        process: 0,
    };
    let mut description = Description::new("logs", vec![entry]).unwrap();
    description.runtime_directory = Some(directory.join("run"));
    let path = directory.join("c.toml");
    description.create(&path).unwrap();
    path
}

/// Lists the root directory, which the server notes in its log.
fn list(file: &Path) {
    let mut list = futago();
    list.args(["ls", "/", "--cluster"]).arg(file);
    list.assert().success();
}

#[test]
fn servers_outlive_logs_that_cannot_be_written() {
    for errors in [full as fn() -> Stdio, closed] {
        for format in ["text", "json"] {
            let directory = tempfile::tempdir().unwrap();
            let file = describe(directory.path());
            let path = file.to_str().unwrap();
            let words = ["serve", "--process", "0", "--cluster", path];
            let mut server = Running::start(format, &words, errors());
            list(&file);
            list(&file);
            assert!(server.is_alive(), "logging as {format}");
        }
    }
}

#[test]
fn mounts_outlive_logs_that_cannot_be_written() {
    if !Path::new("/dev/fuse").exists() {
        return;
    }
    let cluster = Cluster::up(&[]);
    let point = cluster.path("mount");
    std::fs::create_dir(&point).unwrap();
    let (file, path) = (cluster.file(), point.to_str().unwrap().to_owned());
    let words = [
        "mount",
        "--foreground",
        "--cluster",
        file.to_str().unwrap(),
        &path,
    ];
    for errors in [full as fn() -> Stdio, closed] {
        let mut mount = Running::start("text", &words, errors());
        std::fs::write(point.join("file"), b"something to log").unwrap();
        assert!(mount.is_alive());
        futago().arg("umount").arg(&point).assert().success();
        assert!(mount.0.wait().unwrap().success());
    }
}

/// Adds a line to a log, as its process does.
fn log_line(place: &serde_json::Value, line: &str) {
    let path = place["path"].as_str().unwrap();
    let mut log = std::fs::File::options().append(true).open(path).unwrap();
    std::io::Write::write_all(&mut log, line.as_bytes()).unwrap();
}

#[test]
fn logs_are_found_printed_and_followed() {
    let cluster = Cluster::up(&["--servers", "2"]);
    let (_, places) = cluster.json(&["log"]);
    let sources: Vec<_> = places
        .as_array()
        .unwrap()
        .iter()
        .map(|place| &place["source"])
        .collect();
    assert_eq!(sources, ["server-0", "server-1"]);
    log_line(&places[1], "first\nhalf a");
    let printed = |arguments: &[&str]| {
        let assert = cluster.command(arguments).assert().success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    };
    assert!(printed(&["log"]).ends_with("server-1: first\n"));
    assert!(!printed(&["log", "--server", "0"]).contains("first"));
    cluster.command(&["log", "--server", "2"]).assert().code(3);

    let mut follow = Command::new(env!("CARGO_BIN_EXE_futago"));
    follow
        .args(["log", "--follow", "--server", "1"])
        .env("FUTAGO_CLUSTER", cluster.file());
    let mut following = Running(follow.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(following.0.stdout.take().unwrap()).lines();
    let mut find = |line: &str| lines.any(|found| found.is_ok_and(|found| found == line));
    assert!(find("server-1: first"));
    log_line(&places[1], " line\n");
    assert!(find("server-1: half a line"));
    let pid = rustix::process::Pid::from_child(&following.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(following.0.wait().unwrap().code(), Some(130));
}

#[test]
fn log_files_have_no_colors() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = Cluster { directory };
    let words = ["up", "--memory", "256MiB", "--cluster"];
    let mut up = futago();
    up.env("FUTAGO_LOG", "info").args(words).arg(cluster.file());
    up.assert().success();
    let log = cluster.command(&["log"]).assert().success();
    let log = String::from_utf8(log.get_output().stdout.clone()).unwrap();
    assert!(log.contains("ready") && !log.contains('\x1b'), "{log}");
}
