//! Client processes on the server's host that die or stop. Other clients are served, and the locks
//! and opens of the dead ones are released. The processes are this test program itself, which an
//! environment variable makes a client.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod one_server;

use bytes::Bytes;
use futago_node::{
    Cluster, Options,
    blocking::{FileSystem, OpenOptions},
    server::Servers,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
};
use tempfile::TempDir;

/// The variable with the cluster file for a process that is a client.
const CLIENT: &str = "FUTAGO_TEST_CLIENT_OF";

struct Running {
    directory: TempDir,
    cluster: Cluster,
    _servers: Servers,
}

fn start() -> Running {
    let directory = tempfile::tempdir().unwrap();
    let config = one_server::config(directory.path());
    config
        .cluster
        .create(&directory.path().join("cluster.toml"))
        .unwrap();
    let servers = Servers::start(&config);
    Running {
        directory,
        cluster: config.cluster,
        _servers: servers.unwrap(),
    }
}

/// A process that writes and reads files until it is killed.
struct ClientProcess(Child);

impl ClientProcess {
    /// Starts one, and returns after its first operation.
    fn start(running: &Running) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["a_client_process", "--exact", "--nocapture"])
            .env(CLIENT, running.directory.path().join("cluster.toml"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("at work")));
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The program of a client process; it is not a test by itself.
#[test]
fn a_client_process() {
    let Some(file) = env::var_os(CLIENT) else {
        return;
    };
    let cluster = Cluster::load(&PathBuf::from(file)).unwrap();
    let client = FileSystem::connect(&cluster, Options::default()).unwrap();
    let name = format!("/{}", std::process::id());
    for round in 0.. {
        write_and_read(&client, name.as_bytes());
        if round == 0 {
            println!("at work");
        }
    }
}

fn write_and_read(client: &FileSystem, path: &[u8]) {
    let options = OpenOptions {
        create: true,
        mode: 0o600,
        ..OpenOptions::default()
    };
    let file = client.open(path, options).unwrap();
    let data = Bytes::from(vec![7; 300_000]);
    file.write_at(0, data.clone()).unwrap();
    assert!(file.read_at(0, 300_000).unwrap() == data);
    file.close().unwrap();
    client.remove_file(path).unwrap();
}

/// The number of connections through shared memory of this process: each maps one file.
fn mapped() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines()
        .filter(|line| line.contains("memfd:futago"))
        .count()
}

#[test]
fn clients_that_die_or_stop_cost_nobody_anything() {
    if env::var_os(CLIENT).is_some() {
        return;
    }
    let running = start();
    let beside = FileSystem::connect(&running.cluster, Options::default()).unwrap();
    write_and_read(&beside, b"/beside");
    let before = mapped();
    assert!(before >= 2, "both ends of a connection are in this process");

    for signal in [Signal::KILL, Signal::STOP] {
        let clients: Vec<_> = (0..3).map(|_| ClientProcess::start(&running)).collect();
        assert_eq!(mapped(), before + 3);
        clients.iter().for_each(|client| client.signal(signal));
        for _ in 0..20 {
            write_and_read(&beside, b"/beside");
        }
        drop(clients);
        while mapped() > before {
            write_and_read(&beside, b"/beside");
            thread::yield_now();
        }
    }
}
