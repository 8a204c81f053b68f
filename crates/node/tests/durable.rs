//! Servers with a directory: clients go on when a server comes back.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod one_server;

use futago_base::record::LockKind;
use futago_node::{
    Options,
    blocking::{File, FileSystem, OpenOptions},
    server::{Config, Servers},
};
use std::{fs, os::unix::fs::FileExt};
use tempfile::TempDir;

const NEW: OpenOptions = OpenOptions {
    create: true,
    create_new: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// A server that keeps what it has.
struct Room {
    config: Config,
    directory: TempDir,
    servers: Option<Servers>,
}

impl Room {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = one_server::config(directory.path());
        config.cluster.data = Some(directory.path().join("data"));
        let servers = Servers::start(&config).unwrap();
        Self {
            config,
            directory,
            servers: Some(servers),
        }
    }

    fn client(&self) -> FileSystem {
        let options = Options {
            leases: true,
            ..Options::default()
        };
        FileSystem::connect(&self.config.cluster, options).unwrap()
    }

    fn stop(&mut self) {
        self.servers.take().unwrap().stop().unwrap();
    }

    fn start(&mut self) {
        self.servers = Some(Servers::start(&self.config).unwrap());
    }

    fn restart(&mut self) {
        self.stop();
        self.start();
    }
}

fn read(file: &File) -> Vec<u8> {
    file.read_at(0, 1 << 20).unwrap().to_vec()
}

#[test]
fn a_client_goes_on_with_its_open_files_and_locks() {
    let mut room = Room::new();
    let (client, other) = (room.client(), room.client());
    let file = client.open(b"/file", NEW).unwrap();
    file.write_at(0, b"before".as_slice().into()).unwrap();
    assert!(file.try_lock(LockKind::Exclusive).unwrap());
    client.remove_file(b"/file").unwrap();
    client.create_directory(b"/directory", 0o755).unwrap();
    room.restart();
    // The file has no name, and lives because it is open.
    file.write_at(6, b" and after".as_slice().into()).unwrap();
    assert_eq!(read(&file), b"before and after");
    client.create_directory(b"/directory/below", 0o755).unwrap();
    // A lock of another client is in the way as before.
    let named = client.open(b"/locked", NEW).unwrap();
    assert!(named.try_lock(LockKind::Exclusive).unwrap());
    room.restart();
    let same = other.open(b"/locked", OpenOptions::default()).unwrap();
    assert!(!same.try_lock(LockKind::Exclusive).unwrap());
    named.close().unwrap();
    assert!(same.try_lock(LockKind::Exclusive).unwrap());
}

#[test]
fn what_returned_is_there_for_new_clients() {
    let mut room = Room::new();
    let client = room.client();
    for number in 0..200 {
        let file = client.open(format!("/f{number}").as_bytes(), NEW).unwrap();
        let text = format!("text {number}").repeat(number + 1);
        file.write_at(0, text.into_bytes().into()).unwrap();
        file.close().unwrap();
    }
    drop(client);
    room.restart();
    let client = room.client();
    for number in 0..200 {
        let path = format!("/f{number}");
        let file = client
            .open(path.as_bytes(), OpenOptions::default())
            .unwrap();
        let text = format!("text {number}").repeat(number + 1);
        assert_eq!(read(&file), text.into_bytes());
    }
}

#[test]
fn a_damaged_log_is_not_served() {
    let mut room = Room::new();
    room.client()
        .create_directory(b"/directory", 0o755)
        .unwrap();
    room.stop();
    let place = room.directory.path().join("data/server-0");
    let log = place.join("00000000000000000001.log");
    let file = fs::File::options().write(true).open(log).unwrap();
    file.write_all_at(b"?", 100).unwrap();
    let error = Servers::start(&room.config).err().unwrap().to_string();
    assert!(error.contains("is damaged at byte 48"), "{error}");
}

#[test]
fn damaged_data_is_an_error_of_its_file_alone() {
    let mut room = Room::new();
    let client = room.client();
    for (path, byte) in [(b"/damaged", 1), (b"/other00", 2)] {
        let file = client.open(path, NEW).unwrap();
        file.write_at(0, vec![byte; 100_000].into()).unwrap();
        file.close().unwrap();
    }
    drop(client);
    room.stop();
    let place = room.directory.path().join("data/server-0");
    let data = place.join("00000000000000000001.data");
    let file = fs::File::options().write(true).open(data).unwrap();
    file.write_all_at(b"?", 5000).unwrap();
    room.start();
    let client = room.client();
    let open = |path: &[u8]| client.open(path, OpenOptions::default()).unwrap();
    let damaged = open(b"/damaged");
    let error = damaged.read_at(0, 100).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "{error}");
    // The rest of it has checksums of its own.
    assert_eq!(damaged.read_at(70_000, 1).unwrap().to_vec(), [1]);
    assert_eq!(read(&open(b"/other00")), [2; 100_000]);
    damaged.write_at(0, vec![3; 100_000].into()).unwrap();
    assert_eq!(read(&damaged), [3; 100_000]);
}
