//! Real clients that read from each other's caches, over sockets and shared memory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::{Duration, ServerId};
use futago_node::{
    Cluster, Cooperative, CooperativeChoice, Options, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    server::{Config, Servers},
};
use futago_transport::Address;
use futago_wire::SharingCounters;
use std::thread;
use tempfile::TempDir;

const SERVERS: u16 = 2;
/// A size that is no multiple of a piece or a block.
const SIZE: usize = (8 << 20) + 70_001;
/// The size of one read.
const READ: u32 = 128 << 10;
const PATH: &[u8] = b"/data";

struct Running {
    cluster: Cluster,
    _servers: Vec<Servers>,
    _directory: TempDir,
}

fn start(secure: bool) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let entry = |n| ServerEntry {
        address: Address::Unix(directory.path().join(format!("{n}.sock"))),
        host: None,
        process: u32::from(n),
    };
    let mut cluster = Cluster::new("test", (0..SERVERS).map(entry).collect()).unwrap();
    cluster.cooperative = Some(Cooperative::default());
    cluster.secure = secure;
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
        _servers: servers,
        _directory: directory,
    }
}

impl Running {
    fn client(&self, cooperative: CooperativeChoice) -> FileSystem {
        let mut options = Options {
            cooperative,
            ..Options::default()
        };
        // However slow this machine is, nobody asks the servers instead.
        options.client.cache_timeout = Duration::from_secs(8);
        FileSystem::connect(&self.cluster, options).unwrap()
    }

    fn clients(&self, number: usize) -> Vec<FileSystem> {
        let choice = CooperativeChoice::AsCluster;
        (0..number).map(|_| self.client(choice)).collect()
    }
}

fn pattern(seed: usize) -> Vec<u8> {
    (0..SIZE).map(|at| ((at / 3 + seed) % 251) as u8).collect()
}

fn write(client: &FileSystem, data: Vec<u8>) {
    let create = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = client.open(PATH, create).unwrap();
    file.write_at(0, Bytes::from(data)).unwrap();
    file.close().unwrap();
}

fn read(client: &FileSystem) -> Vec<u8> {
    let file = client.open(PATH, OpenOptions::default()).unwrap();
    let mut all = Vec::new();
    loop {
        let part = file.read_at(all.len() as u64, READ).unwrap();
        if part.is_empty() {
            file.close().unwrap();
            return all;
        }
        all.extend_from_slice(&part);
    }
}

fn counters(client: &FileSystem) -> SharingCounters {
    let counters = client
        .futago()
        .run_blocking(async |client| client.sharing_counters());
    counters.unwrap()
}

/// Reads with all clients at once. Returns what the servers have sent to all of them.
fn read_at_once(clients: &[FileSystem], expected: &[u8]) -> u64 {
    let before: u64 = clients
        .iter()
        .map(|it| counters(it).bytes_from_servers)
        .sum();
    thread::scope(|scope| {
        for client in clients {
            scope.spawn(move || assert!(read(client) == expected));
        }
    });
    let after: u64 = clients
        .iter()
        .map(|it| counters(it).bytes_from_servers)
        .sum();
    after - before
}

#[test]
fn the_servers_send_one_copy_to_clients_that_read_at_once() {
    for secure in [false, true] {
        let running = start(secure);
        write(&running.client(CooperativeChoice::Off), pattern(1));
        let clients = running.clients(4);
        let sent = read_at_once(&clients, &pattern(1));
        assert!(sent < 2 * SIZE as u64, "{sent}");
        let peers: u64 = clients.iter().map(|it| counters(it).bytes_from_peers).sum();
        assert!(peers > 2 * SIZE as u64, "{peers}");
    }
}

#[test]
fn a_client_of_its_own_mind_reads_from_servers_only() {
    let running = start(false);
    let alone = running.client(CooperativeChoice::Off);
    write(&alone, pattern(1));
    let clients = running.clients(2);
    read_at_once(&clients, &pattern(1));
    assert!(read(&alone) == pattern(1));
    assert_eq!(counters(&alone).bytes_from_peers, 0);
    assert_eq!(counters(&alone).asked, 0);
}

#[test]
fn what_a_client_writes_all_others_read() {
    let running = start(false);
    let clients = running.clients(3);
    for seed in 0..6 {
        write(&clients[seed % clients.len()], pattern(seed));
        read_at_once(&clients, &pattern(seed));
    }
}

#[test]
fn what_leaves_a_small_cache_is_in_a_large_one() {
    let mut running = start(false);
    write(&running.client(CooperativeChoice::Off), pattern(1));
    let cooperative = |cache_bytes| Cooperative {
        cache_bytes,
        chances: 1,
        ..Cooperative::default()
    };
    running.cluster.cooperative = Some(cooperative(1 << 30));
    let large = running.client(CooperativeChoice::AsCluster);
    let small = running.client(CooperativeChoice::On(cooperative(SIZE as u64 / 2)));
    // It knows the large one from the next keep-alive on at the latest.
    while counters(&large).bytes_from_peers == 0 {
        assert!(read(&small) == pattern(1));
    }
    assert!(counters(&small).bytes_served > 0);
    assert!(read(&large) == pattern(1));
}

#[test]
fn holders_that_leave_are_done_without() {
    let running = start(false);
    write(&running.client(CooperativeChoice::Off), pattern(1));
    let mut clients = running.clients(3);
    read_at_once(&clients, &pattern(1));
    drop(clients.split_off(1));
    clients.extend(running.clients(1));
    drop(clients.remove(0));
    read_at_once(&clients, &pattern(1));
}
