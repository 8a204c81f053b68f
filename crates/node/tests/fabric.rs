//! Clients and servers of a cluster whose connections go over a fabric.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::ServerId;
use futago_node::{
    Cluster, Options, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    server::{Config, Servers},
};
use futago_transport::Address;
use std::{net::TcpListener, thread};

const SERVERS: u16 = 2;
const PROVIDERS: [&str; 2] = ["tcp", "shm"];
const NEW: OpenOptions = OpenOptions {
    create: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

/// A cluster of server processes of one server each, none of which runs.
fn cluster(provider: &str) -> Cluster {
    let held: Vec<TcpListener> = (0..SERVERS)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let entries = held.iter().zip(0..).map(|(port, process)| ServerEntry {
        address: Address::Tcp(port.local_addr().unwrap().to_string()),
        host: None,
        process,
    });
    let mut cluster = Cluster::new("test", entries.collect()).unwrap();
    cluster.fabric = Some(provider.parse().unwrap());
    cluster
}

/// A server on threads of its own, which is connected to the other one.
fn start(cluster: &Cluster, server: u16) -> Servers {
    let servers = Servers::start(&Config {
        cluster: cluster.clone(),
        servers: vec![ServerId(server)],
        memory_bytes: 1 << 30,
        root_owner: (0, 0),
    });
    servers.unwrap()
}

/// Makes a directory with a file of small and large pieces, and renames it. Directories of several
/// numbers are on both servers.
fn work(files: &FileSystem, number: usize) {
    let directory = format!("/{number}");
    files.create_directory(directory.as_bytes(), 0o755).unwrap();
    let path = format!("{directory}/file");
    let file = files.open(path.as_bytes(), NEW).unwrap();
    for length in [1, 64, 4096, 70_000, 5 << 20] {
        let data = Bytes::from(vec![number as u8 + 1; length]);
        file.write_at(0, data.clone()).unwrap();
        assert!(file.read_at(0, length as u32).unwrap() == data);
    }
    file.close().unwrap();
    let moved = format!("/{number}.moved");
    files.rename(path.as_bytes(), moved.as_bytes()).unwrap();
    assert!(files.metadata(moved.as_bytes(), true).is_ok());
}

#[test]
fn threads_of_a_client_work_on_servers_that_work_together() {
    for provider in PROVIDERS {
        let cluster = cluster(provider);
        let _servers = [start(&cluster, 0), start(&cluster, 1)];
        let files = FileSystem::connect(&cluster, Options::default()).unwrap();
        thread::scope(|scope| {
            for first in [10, 20, 30] {
                let files = &files;
                scope.spawn(move || (first..first + 8).for_each(|number| work(files, number)));
            }
        });
    }
}

#[test]
fn a_client_goes_on_when_a_server_has_come_back() {
    for provider in PROVIDERS {
        let cluster = cluster(provider);
        let _first = start(&cluster, 0);
        let second = start(&cluster, 1);
        let files = FileSystem::connect(&cluster, Options::default()).unwrap();
        (0..8).for_each(|number| work(&files, number));
        drop(second);
        let _second = start(&cluster, 1);
        for number in 0..16 {
            // The new server refuses the session that the old one knew, once.
            let _ = files.create_directory(format!("/again{number}").as_bytes(), 0o755);
        }
        (10..18).for_each(|number| work(&files, number));
    }
}

#[test]
fn a_client_of_another_provider_hears_why_it_is_refused() {
    let cluster = cluster("tcp");
    let _servers = [start(&cluster, 0), start(&cluster, 1)];
    let mut other = cluster;
    other.fabric = Some("shm".parse().unwrap());
    let refused = FileSystem::connect(&other, Options::default())
        .and_then(|files| files.metadata(b"/", true).map(drop));
    assert!(refused.is_err());
}
