//! Clients that reach their servers through sockets only: calling threads receive the replies.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::ServerId;
use futago_node::{
    Cluster, Options, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    server::{Config, Servers},
};
use futago_transport::Address;
use std::{
    io::{self, ErrorKind},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

const SERVERS: u16 = 2;
/// A server waits for a lease that is not returned until it expires, which takes longer.
const LEASE: Duration = Duration::from_secs(10);
const NEW: OpenOptions = OpenOptions {
    create: true,
    mode: 0o644,
    ..OpenOptions::EXISTING
};

fn free_port() -> SocketAddr {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap()
}

/// Passes on what connections to the returned address send to `to`, and back. The server offers no
/// shared memory there.
fn relay(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for near in listener.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(to).unwrap());
            for (mut from, mut into) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ] {
                into.set_nodelay(true).unwrap();
                thread::spawn(move || {
                    io::copy(&mut from, &mut into).ok();
                    into.shutdown(Shutdown::Both).ok();
                });
            }
        }
    });
    address
}

/// Servers, and the cluster as clients see it.
struct Running {
    _servers: Servers,
    cluster: Cluster,
}

fn start(secure: bool) -> Running {
    let entry = |address: SocketAddr| ServerEntry {
        address: Address::Tcp(address.to_string()),
        host: None,
        process: 0,
    };
    let addresses: Vec<SocketAddr> = (0..SERVERS).map(|_| free_port()).collect();
    let entries = addresses.iter().copied().map(entry).collect();
    let mut cluster = Cluster::new("test", entries).unwrap();
    cluster.secure = secure;
    let servers = Servers::start(&Config {
        cluster: cluster.clone(),
        servers: (0..SERVERS).map(ServerId).collect(),
        memory_bytes: 1 << 30,
        root_owner: (0, 0),
    });
    cluster.servers = addresses.into_iter().map(relay).map(entry).collect();
    Running {
        _servers: servers.unwrap(),
        cluster,
    }
}

impl Running {
    fn client(&self, leases: bool) -> FileSystem {
        let options = Options {
            leases,
            ..Options::default()
        };
        FileSystem::connect(&self.cluster, options).unwrap()
    }
}

/// Writes and reads a file of many small and some large pieces.
fn work(files: &FileSystem, number: usize) {
    let path = format!("/{number}");
    let file = files.open(path.as_bytes(), NEW).unwrap();
    for length in [1, 64, 4096, 70_000, 5 << 20] {
        let data = Bytes::from(vec![number as u8 + 1; length]);
        file.write_at(0, data.clone()).unwrap();
        assert!(file.read_at(0, length as u32).unwrap() == data);
        assert!(files.metadata(path.as_bytes(), true).is_ok());
    }
    file.close().unwrap();
    let gone = files.metadata(b"/nothing", true).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
}

#[test]
fn many_threads_of_one_client_get_their_own_replies() {
    for secure in [false, true] {
        let running = start(secure);
        let (files, together) = (running.client(false), Barrier::new(6));
        thread::scope(|scope| {
            for number in 0..6 {
                let (files, together) = (&files, &together);
                scope.spawn(move || {
                    together.wait();
                    for round in 0..5 {
                        work(files, number * 5 + round);
                    }
                });
            }
        });
    }
}

#[test]
fn a_client_without_calls_returns_its_leases() {
    let running = start(false);
    let (idle, busy) = (running.client(true), running.client(true));
    for round in 0..20 {
        let path = format!("/{round}");
        work(&idle, round);
        // `idle` has leases on what `busy` changes, and its client's thread hears of it.
        let begun = Instant::now();
        busy.remove_file(path.as_bytes()).unwrap();
        assert!(begun.elapsed() < LEASE);
        let seen = idle.metadata(path.as_bytes(), true).unwrap_err();
        assert_eq!(seen.kind(), ErrorKind::NotFound);
    }
}
