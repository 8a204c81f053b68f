//! Contact servers of a real cluster.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::ServerId;
use futago_node::{
    Cluster, Options, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    server::{Config, Servers},
};
use futago_transport::Address;
use tempfile::TempDir;

const SERVERS: u16 = 4;
const CLIENTS: usize = 24;

struct Running {
    cluster: Cluster,
    servers: Vec<Servers>,
    _directory: TempDir,
}

/// Starts servers on Unix sockets, each as a "process" of its own.
fn start() -> Running {
    let directory = tempfile::tempdir().unwrap();
    let entry = |n| ServerEntry {
        address: Address::Unix(directory.path().join(format!("{n}.sock"))),
        host: None,
        process: u32::from(n),
    };
    let mut cluster = Cluster::new("test", (0..SERVERS).map(entry).collect()).unwrap();
    cluster.contacts = true;
    let server = |n| {
        let config = Config {
            cluster: cluster.clone(),
            servers: vec![ServerId(n)],
            memory_bytes: 1 << 28,
            root_owner: (0, 0),
        };
        Servers::start(&config).unwrap()
    };
    let servers = (0..SERVERS).map(server).collect();
    Running {
        cluster,
        servers,
        _directory: directory,
    }
}

fn clients(running: &Running) -> Vec<FileSystem> {
    let client = |_| FileSystem::connect(&running.cluster, Options::default()).unwrap();
    (0..CLIENTS).map(client).collect()
}

fn write(client: &FileSystem, path: &[u8], data: &'static [u8]) {
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = client.open(path, create).unwrap();
    file.write_at(0, data.into()).unwrap();
    file.close().unwrap();
}

fn read(client: &FileSystem, path: &[u8]) -> Vec<u8> {
    let file = client.open(path, OpenOptions::default()).unwrap();
    let data = file.read_at(0, 100).unwrap().to_vec();
    file.close().unwrap();
    data
}

#[test]
fn all_clients_see_at_once_what_one_has_changed() {
    let running = start();
    let clients = clients(&running);
    write(&clients[0], b"/f", b"one");
    for client in &clients {
        assert_eq!(read(client, b"/f"), b"one");
    }
    write(&clients[1], b"/f", b"two");
    clients[2].rename(b"/f", b"/g").unwrap();
    for client in &clients {
        assert_eq!(read(client, b"/g"), b"two");
        assert!(client.open(b"/f", OpenOptions::default()).is_err());
    }
}

/// The root is on the first server, and the last one ends.
#[test]
fn clients_of_a_server_that_has_ended_open_what_others_have() {
    let mut running = start();
    let clients = clients(&running);
    write(&clients[0], b"/f", b"one");
    for client in &clients {
        assert_eq!(read(client, b"/f"), b"one");
    }
    drop(running.servers.pop());
    for client in &clients {
        assert_eq!(read(client, b"/f"), b"one");
        assert!(client.open(b"/none", OpenOptions::default()).is_err());
    }
}
