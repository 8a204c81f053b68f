//! Clocks that step or differ: leases and locks depend on a steady clock, stamps on the wall clock.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod one_server;

use bytes::Bytes;
use futago_base::{
    FileId, Timestamp,
    record::{LockKind, LockRange, LockSpace},
};
use futago_client::Cancel;
use futago_node::{
    Clock, Cluster, Options,
    blocking::{FileSystem, OpenOptions},
    server::{Servers, Surroundings},
};
use futago_wire::LockChange;
use std::{
    env,
    io::{self, BufRead, BufReader, ErrorKind},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const HOUR_NS: i64 = 3_600_000_000_000;

/// The variable with the cluster file for a process that holds a lock.
const HOLDER: &str = "FUTAGO_TEST_HOLDER_OF";

const NEW: OpenOptions = OpenOptions {
    create: true,
    create_new: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// A server whose clock can be stepped.
struct Running {
    cluster: Cluster,
    clock: Clock,
    directory: TempDir,
    _servers: Servers,
}

impl Running {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = one_server::config(directory.path());
        let cluster = config.cluster.clone();
        cluster.create(&directory.path().join("c.toml")).unwrap();
        let surroundings = Surroundings::default();
        let _servers = Servers::start_in(&config, &surroundings).unwrap();
        Self {
            cluster,
            clock: surroundings.clock,
            directory,
            _servers,
        }
    }

    fn client(&self, options: Options) -> FileSystem {
        FileSystem::connect(&self.cluster, options).unwrap()
    }

    /// Waits until the server stamps files with this time or a later one.
    fn wait_for_stamps(&self, from: Timestamp) {
        let client = self.client(Options::default());
        for number in 0.. {
            let path = format!("/stamp-{number}");
            let stamp = client.open(path.as_bytes(), NEW).unwrap();
            if stamp.metadata().unwrap().born >= from {
                return;
            }
        }
    }
}

/// Takes an exclusive lock, if nobody holds one.
fn lock(client: &FileSystem, id: FileId) -> io::Result<()> {
    lock_or_wait(client, id, None)
}

/// Takes an exclusive lock; waits for it if the wait can be cancelled.
fn lock_or_wait(client: &FileSystem, id: FileId, wait: Option<&Cancel>) -> io::Result<()> {
    let lock = LockChange {
        space: LockSpace::Whole,
        kind: Some(LockKind::Exclusive),
        owner: 1,
        range: LockRange {
            start: 0,
            end: u64::MAX,
        },
        pid: std::process::id(),
    };
    client.run(async |client| client.set_lock(id, lock, wait).await)
}

fn id_of(client: &FileSystem, path: &[u8]) -> FileId {
    client.metadata(path, true).unwrap().id
}

fn an_hour_after(stamp: Timestamp) -> Timestamp {
    Timestamp {
        seconds: stamp.seconds + 3600,
        ..stamp
    }
}

#[test]
fn no_session_ends_because_a_server_s_clock_is_set_forward() {
    let running = Running::start();
    let client = running.client(Options::default());
    let file = client.open(b"/f", NEW).unwrap();
    let before = file.metadata().unwrap();
    lock(&client, before.id).unwrap();
    running.clock.step_wall(HOUR_NS);
    running.wait_for_stamps(an_hour_after(before.born));
    // Ticks would end the session in one of these milliseconds.
    let end = Instant::now() + Duration::from_millis(500);
    let other = running.client(Options::default());
    while Instant::now() < end {
        assert!(lock(&other, before.id).is_err(), "the lock is held");
    }
    file.write_at(0, Bytes::from_static(b"still open")).unwrap();
    file.close().unwrap();
}

/// A process that holds a lock until it is killed.
struct Holder(Child);

impl Holder {
    fn start(running: &Running) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["a_process_that_holds_a_lock", "--exact", "--nocapture"])
            .env(HOLDER, running.directory.path().join("c.toml"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("locked")));
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The program of such a process; it is not a test by itself.
#[test]
fn a_process_that_holds_a_lock() {
    let Some(file) = env::var_os(HOLDER) else {
        return;
    };
    let cluster = Cluster::load(&PathBuf::from(file)).unwrap();
    let client = FileSystem::connect(&cluster, Options::default()).unwrap();
    lock(&client, id_of(&client, b"/f")).unwrap();
    println!("locked");
    loop {
        thread::park();
    }
}

#[test]
fn locks_of_the_dead_are_freed_though_a_server_s_clock_is_set_back() {
    if env::var_os(HOLDER).is_some() {
        return;
    }
    let running = Running::start();
    let client = running.client(Options::default());
    client.open(b"/f", NEW).unwrap().close().unwrap();
    let id = id_of(&client, b"/f");
    let holder = Holder::start(&running);
    assert_eq!(lock(&client, id).unwrap_err().kind(), ErrorKind::WouldBlock);
    running.clock.step_wall(-HOUR_NS);
    drop(holder);
    let begun = Instant::now();
    lock_or_wait(&client, id, Some(&Cancel::default())).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "a lease is 20 s");
}

#[test]
fn a_client_whose_clock_is_behind_stamps_nothing_before_its_cause() {
    let running = Running::start();
    let options = Options {
        leases: true,
        ..Options::default()
    };
    options.clock.step_wall(-HOUR_NS);
    let behind = running.client(options);
    let file = behind.open(b"/f", NEW).unwrap();
    file.write_at(0, Bytes::from_static(b"kept by the client"))
        .unwrap();
    file.synchronize().unwrap();
    file.close().unwrap();
    let found = running.client(Options::default()).metadata(b"/f", true);
    let found = found.unwrap();
    assert!(found.modified >= found.born, "{found:?}");
}
