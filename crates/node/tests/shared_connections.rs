//! Servers of one process share the connections of its clients.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use futago_base::{Errno, Payload, ServerId};
use futago_client::Context;
use futago_node::{
    Cluster, Options, RecordedClient, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    server::{Config, Servers, Status},
};
use futago_transport::Address;
use futago_wire::{Reply, Request};
use std::thread;
use tempfile::TempDir;

const SERVERS: u16 = 4;

/// A cluster of one process, at addresses that stay the same.
struct Running {
    cluster: Cluster,
    servers: Option<Servers>,
    _directory: TempDir,
}

impl Running {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let entry = |n| ServerEntry {
            address: Address::Unix(directory.path().join(format!("{n}.sock"))),
            host: None,
            process: 0,
        };
        let cluster = Cluster::new("test", (0..SERVERS).map(entry).collect()).unwrap();
        let servers = Some(start_servers(&cluster));
        Self {
            cluster,
            servers,
            _directory: directory,
        }
    }

    fn client(&self) -> FileSystem {
        FileSystem::connect(&self.cluster, Options::default()).unwrap()
    }

    fn start_again(&mut self) {
        self.servers.take().unwrap().stop().unwrap();
        self.servers = Some(start_servers(&self.cluster));
    }
}

fn start_servers(cluster: &Cluster) -> Servers {
    let config = Config {
        cluster: cluster.clone(),
        servers: (0..SERVERS).map(ServerId).collect(),
        memory_bytes: 1 << 30,
        root_owner: (0, 0),
    };
    Servers::start(&config).unwrap()
}

async fn status(client: &RecordedClient, server: u16) -> Result<Status, Errno> {
    let context = client.context();
    let number = context.next_sequence();
    let asked = context.call(
        ServerId(server),
        number,
        Request::GetStatus,
        Payload::empty(),
    );
    match asked.await.map_err(|_| Errno::EIO)? {
        (Reply::Bytes(json), _) => serde_json::from_slice(&json).map_err(|_| Errno::EIO),
        _ => Err(Errno::EIO),
    }
}

/// Sends a request to all servers at once.
fn ask_all(files: &FileSystem) -> Vec<Status> {
    let all = files.run(async |client| {
        let answers = tokio::join!(
            status(client, 0),
            status(client, 1),
            status(client, 2),
            status(client, 3)
        );
        Ok([answers.0?, answers.1?, answers.2?, answers.3?])
    });
    all.unwrap().to_vec()
}

/// The number of server threads, each with connections of its own.
fn server_threads() -> u64 {
    let cores = thread::available_parallelism().unwrap().get();
    let of_a_thread = usize::from(SERVERS).div_ceil(cores.div_ceil(2));
    usize::from(SERVERS).div_ceil(of_a_thread) as u64
}

/// Polls until the superfluous connections of a client are closed.
fn has_one_connection_a_thread(files: &FileSystem) -> bool {
    let connections = |statuses: Vec<Status>| statuses.iter().map(|at| at.connections).sum();
    (0..10_000).any(|_| {
        let count: u64 = connections(ask_all(files));
        count == server_threads()
    })
}

#[test]
fn who_asks_several_servers_at_once_has_one_connection_to_each_thread() {
    let running = Running::start();
    assert!(has_one_connection_a_thread(&running.client()));
}

#[test]
fn a_connection_that_breaks_is_made_again_for_all_its_servers() {
    let mut running = Running::start();
    let files = running.client();
    ask_all(&files);
    running.start_again();
    assert!(has_one_connection_a_thread(&files));
}

/// Names that move between directories, while their files stay.
#[test]
fn servers_of_a_thread_tell_each_other_without_connections() {
    let running = Running::start();
    let (files, other) = (running.client(), running.client());
    let new = OpenOptions {
        create: true,
        create_new: true,
        mode: 0o644,
        ..OpenOptions::EXISTING
    };
    let path = |directory: u32, name: &str| format!("/{directory}/{name}").into_bytes();
    for n in 0..16 {
        files
            .create_directory(format!("/{n}").as_bytes(), 0o755)
            .unwrap();
        files.open(&path(n, "old"), new).unwrap();
    }
    for n in 0..16 {
        files
            .rename(&path(n, "old"), &path((n + 1) % 16, "new"))
            .unwrap();
    }
    for n in 0..16 {
        assert!(other.metadata(&path(n, "old"), true).is_err());
        other.remove_file(&path(n, "new")).unwrap();
    }
    let peer_messages: u64 = ask_all(&files)
        .iter()
        .filter_map(|status| status.requests.get("peer"))
        .sum();
    assert!(peer_messages > 0, "no message from server to server");
    if server_threads() == 1 {
        drop(other);
        assert!(has_one_connection_a_thread(&files));
    }
}
