//! Servers that move between processes while clients work.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_node::{
    Cluster, Options, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    server::{Config, Servers},
};
use futago_transport::Address;
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use tempfile::TempDir;

const NEW: OpenOptions = OpenOptions {
    create: true,
    create_new: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// Two processes, and the cluster as its file describes it now.
struct Room {
    cluster: Cluster,
    processes: Vec<Servers>,
    directory: TempDir,
}

impl Room {
    /// Servers of these processes.
    fn new(processes: &[u32]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let entry = |(number, &process)| ServerEntry {
            address: Address::Unix(directory.path().join(format!("{number}.sock"))),
            host: None,
            process,
        };
        let entries = processes.iter().enumerate().map(entry).collect();
        let mut cluster = Cluster::new("test", entries).unwrap();
        cluster.data = Some(directory.path().join("data"));
        let mut room = Self {
            cluster,
            processes: Vec::new(),
            directory,
        };
        for process in [0, 1] {
            let servers = Servers::start(&room.config(process)).unwrap();
            room.processes.push(servers);
        }
        room
    }

    fn config(&self, process: u32) -> Config {
        Config {
            cluster: self.cluster.clone(),
            servers: self.cluster.servers_of_process(process),
            memory_bytes: 1 << 30,
            root_owner: (0, 0),
        }
    }

    fn client(&self) -> FileSystem {
        let options = Options {
            leases: true,
            ..Options::default()
        };
        FileSystem::connect(&self.cluster, options).unwrap()
    }

    /// Moves a server to a process, at another address.
    fn move_away(&mut self, server: usize, process: u32) {
        let name = format!("{server}-{}.sock", self.cluster.epoch);
        let address = Address::Unix(self.directory.path().join(name));
        self.cluster.servers[server].address = address;
        self.move_to(server, process);
    }

    /// Moves a server to a process.
    fn move_to(&mut self, server: usize, process: u32) {
        self.cluster.servers[server].process = process;
        self.cluster.epoch += 1;
        for servers in &mut self.processes {
            servers.renew(&self.cluster).unwrap();
        }
    }
}

fn text(number: u64) -> Vec<u8> {
    format!("{number} ")
        .repeat(number as usize % 300 + 1)
        .into()
}

fn make(files: &FileSystem, number: u64) {
    let (before, path) = (format!("/new{number}"), path(number));
    let file = files.open(before.as_bytes(), NEW).unwrap();
    file.write_at(0, text(number).into()).unwrap();
    file.close().unwrap();
    files.rename(before.as_bytes(), path.as_bytes()).unwrap();
}

fn path(number: u64) -> String {
    format!("/d{}/f{number}", number % 8)
}

fn check(files: &FileSystem, count: u64) {
    for number in 0..count {
        let path = path(number);
        let file = files.open(path.as_bytes(), OpenOptions::default()).unwrap();
        let found = file.read_at(0, 1 << 16).unwrap();
        assert_eq!(found.to_vec(), text(number), "{path}");
    }
}

fn make_directories(files: &FileSystem) {
    for number in 0..8 {
        let path = format!("/d{number}");
        files.create_directory(path.as_bytes(), 0o755).unwrap();
    }
}

/// Runs `change` while a client makes files, and checks all of them afterwards.
fn while_files_are_made(room: &mut Room, change: impl FnOnce(&mut Room, &AtomicU64)) {
    let files = room.client();
    make_directories(&files);
    let (made, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                make(&files, made.fetch_add(1, Ordering::Relaxed));
            }
        });
        change(room, &made);
        is_over.store(true, Ordering::Relaxed);
    });
    let made = made.load(Ordering::Relaxed);
    check(&files, made);
    check(&room.client(), made);
}

/// Waits until some more files are made.
fn wait_for_files(made: &AtomicU64) {
    let enough = made.load(Ordering::Relaxed) + 10;
    while made.load(Ordering::Relaxed) < enough {
        thread::yield_now();
    }
}

#[test]
fn a_client_goes_on_while_servers_move() {
    let mut room = Room::new(&[0, 0, 0, 1]);
    while_files_are_made(&mut room, |room, made| {
        for round in 0..4 {
            for server in [1, 2] {
                room.move_to(server, 1 - round % 2);
                wait_for_files(made);
            }
        }
    });
}

#[test]
fn clients_and_servers_find_servers_that_have_another_address() {
    let mut room = Room::new(&[0, 0, 1, 1]);
    while_files_are_made(&mut room, |room, made| {
        for server in [0, 2, 1, 3, 0, 2] {
            let process = room.cluster.servers[server].process;
            room.move_away(server, 1 - process);
            wait_for_files(made);
        }
    });
}

#[test]
fn an_idle_client_finds_servers_that_have_all_moved() {
    let mut room = Room::new(&[0, 0, 1, 1]);
    let file = room.directory.path().join("c.toml");
    room.cluster.create(&file).unwrap();
    let loaded = FileSystem::connect(&Cluster::load(&file).unwrap(), Options::default()).unwrap();
    make_directories(&loaded);
    make(&loaded, 0);
    for server in 0..4 {
        room.move_away(server, 0);
    }
    room.cluster.replace(&file).unwrap();
    check(&loaded, 1);
}

#[test]
fn a_server_that_was_asked_for_too_early_waits_for_its_directory() {
    let mut room = Room::new(&[0, 0, 1]);
    while_files_are_made(&mut room, |room, made| {
        room.cluster.servers[1].process = 1;
        room.cluster.epoch += 1;
        room.processes[1].renew(&room.cluster).unwrap();
        wait_for_files(made);
        room.processes[0].renew(&room.cluster).unwrap();
        wait_for_files(made);
    });
}

#[test]
fn another_cluster_s_servers_and_those_without_data_do_not_move() {
    let mut room = Room::new(&[0, 0, 1]);
    let mut other = Cluster::new("other", room.cluster.servers.clone()).unwrap();
    other.servers[1].process = 1;
    assert!(room.processes[0].renew(&other).is_err());
    let mut without = room.config(0);
    without.cluster.data = None;
    for (number, entry) in without.cluster.servers.iter_mut().enumerate() {
        entry.address = Address::Unix(room.directory.path().join(format!("{number}.other")));
    }
    let mut servers = Servers::start(&without).unwrap();
    without.cluster.epoch += 1;
    servers.renew(&without.cluster).unwrap();
    without.cluster.servers[1].process = 1;
    let error = servers.renew(&without.cluster).unwrap_err().to_string();
    assert!(error.contains("without a data directory"), "{error}");
}
