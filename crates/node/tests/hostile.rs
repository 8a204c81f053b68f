//! Strangers, many idle connections and peers that violate the protocol, against a live server that
//! continues to serve others.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::{
    BucketStart, FileId, Incarnation, Name, Payload, ServerId, SessionId,
    record::{LockKind, LockRange, LockSpace},
};
use futago_node::{
    Cluster, Options, ServerEntry,
    blocking::{FileSystem, OpenOptions},
    metrics_exporter,
    server::{Config, Servers, Status},
};
use futago_transport::{
    Address, Budget, Continuation, Hello, Party, Receiver, Role, Sender, Stream,
    handshake::introduce, split,
};
use futago_wire::{
    Body, Failure, Frame, Header, LockChange, MessageKind, Outcome, Peer, PeerChange, Reply,
    Request, Spot, header::features,
};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::Arc,
};
use tempfile::TempDir;
use tokio::task::{LocalSet, spawn_local};

struct Running {
    cluster: Cluster,
    _servers: Servers,
    directory: TempDir,
}

/// One server that accepts this many connections.
fn start(connections: usize) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let entry = ServerEntry {
        address: Address::Unix(directory.path().join("0.sock")),
        host: None,
        process: 0,
    };
    let mut cluster = Cluster::new("test", vec![entry]).unwrap();
    cluster.limits.connections = connections;
    let servers = Servers::start(&config(&cluster));
    Running {
        cluster,
        _servers: servers.unwrap(),
        directory,
    }
}

fn config(cluster: &Cluster) -> Config {
    Config {
        cluster: cluster.clone(),
        servers: vec![ServerId(0)],
        memory_bytes: 1 << 30,
        root_owner: (0, 0),
    }
}

impl Running {
    fn socket(&self) -> PathBuf {
        self.directory.path().join("0.sock")
    }

    fn client(&self) -> FileSystem {
        FileSystem::connect(&self.cluster, Options::default()).unwrap()
    }

    /// Other clients are served.
    fn works(&self) {
        self.client().metadata(b"/", true).unwrap();
    }

    async fn prove(&self, from: Role) -> Stream {
        let mut stream = Stream::connect(&self.cluster.servers[0].address)
            .await
            .unwrap();
        let hello = Hello {
            from,
            to: Party::Server(ServerId(0)),
            map_epoch: self.cluster.epoch,
            continues: Continuation::Socket,
            is_secure: false,
        };
        introduce(&mut stream, &self.cluster.key, hello)
            .await
            .unwrap();
        stream
    }

    async fn proven(&self, from: Role) -> (Receiver, Arc<Sender>) {
        let (receiver, sender) = split(self.prove(from).await, Budget::new(0));
        let drive = Arc::clone(&sender);
        spawn_local(async move { drive.drive().await });
        (receiver, sender)
    }

    /// The server's status, over a connection of its own.
    fn status(&self) -> Status {
        on_one_thread(async {
            let (receiver, sender) = self.proven(Role::Client).await;
            sender.queue(&request(99, 1, Request::GetStatus, 0));
            sender.flush();
            let answers = outcomes(&receiver, 1).await;
            let (_, Ok(Reply::Bytes(json))) = &answers[0] else {
                panic!("{answers:?}")
            };
            serde_json::from_slice(json).unwrap()
        })
    }
}

fn on_one_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, work)
}

fn request(session: u64, sequence: u64, request: Request, payload_bytes: usize) -> Frame {
    frame(
        Header {
            session: SessionId(session),
            sequence,
            features: features::INTRODUCES,
            ..Header::new(MessageKind::Request)
        },
        Body::Request(request),
        payload_bytes,
    )
}

fn frame(header: Header, body: Body, payload_bytes: usize) -> Frame {
    Frame {
        header,
        body,
        payload: Payload::from(Bytes::from(vec![7; payload_bytes])),
    }
}

/// The next replies, with the numbers of their requests.
async fn outcomes(receiver: &Receiver, count: usize) -> Vec<(u64, Outcome)> {
    let (mut frames, mut outcomes) = (Vec::new(), Vec::new());
    while outcomes.len() < count {
        receiver.receive(&mut frames).await.unwrap();
        for frame in frames.drain(..) {
            if let Body::Outcome(outcome) = frame.body {
                outcomes.push((frame.header.sequence, outcome));
            }
        }
    }
    outcomes
}

/// Waits for the server to end a connection.
async fn ended(receiver: Receiver) {
    while receiver.receive(&mut Vec::new()).await.is_ok() {}
}

#[test]
fn many_silent_connections_exclude_no_client() {
    let running = start(4000);
    let crowd: Vec<UnixStream> = (0..5000)
        .map(|_| UnixStream::connect(running.socket()).unwrap())
        .collect();
    running.works();
    assert!(running.status().connections < 10);
    drop(crowd);
    running.works();
}

#[test]
fn thousands_of_idle_members_exclude_no_client() {
    let running = start(4000);
    let members = on_one_thread(async {
        let mut members = Vec::new();
        for _ in 0..1000 {
            members.push(running.prove(Role::Client).await);
        }
        members
    });
    running.works();
    assert!(running.status().connections >= 1000);
    drop(members);
    running.works();
}

#[test]
fn more_members_than_configured_are_refused_with_a_reason() {
    let running = start(1);
    on_one_thread(async {
        let (receiver, sender) = running.proven(Role::Client).await;
        let mut second = Stream::connect(&running.cluster.servers[0].address)
            .await
            .unwrap();
        let hello = Hello {
            from: Role::Client,
            to: Party::Server(ServerId(0)),
            map_epoch: 1,
            continues: Continuation::Socket,
            is_secure: false,
        };
        let refused = introduce(&mut second, &running.cluster.key, hello).await;
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("as many connections"), "{text}");
        sender.queue(&request(1, 1, Request::GetSpace, 0));
        sender.flush();
        outcomes(&receiver, 1).await;
    });
}

#[test]
fn strangers_bytes_end_their_own_connection_only() {
    let running = start(4000);
    let client = running.client();
    for seed in 0_u64..200 {
        let mut stranger = UnixStream::connect(running.socket()).unwrap();
        let noise: Vec<u8> = (0..seed * 7)
            .map(|n| (n.wrapping_mul(seed ^ 0x9e37_79b9) >> 5) as u8)
            .collect();
        // The server may have closed the connection already.
        let _ = stranger.write_all(&noise);
        client.metadata(b"/", true).unwrap();
    }
}

#[test]
fn a_client_that_speaks_as_a_server_is_cut_off() {
    let running = start(4000);
    let forged = |sender| {
        let message = Peer::Deliver {
            sender,
            from: Incarnation(0),
            to: None,
            number: 1,
            change: PeerChange::DropLink {
                file: FileId::ROOT,
                by: None,
            },
        };
        frame(Header::new(MessageKind::Peer), Body::Peer(message), 0)
    };
    on_one_thread(async {
        let (receiver, sender) = running.proven(Role::Client).await;
        sender.queue(&forged(ServerId(0)));
        sender.flush();
        ended(receiver).await;
        let (receiver, sender) = running.proven(Role::Server(ServerId(1))).await;
        sender.queue(&forged(ServerId(2)));
        sender.flush();
        ended(receiver).await;
    });
    assert!(running.status().turned_away >= 2);
    running.works();
}

#[test]
fn a_message_for_a_server_of_another_process_cuts_off_what_follows() {
    let running = start(4000);
    on_one_thread(async {
        let (receiver, sender) = running.proven(Role::Client).await;
        let mut elsewhere = request(1, 1, Request::GetSpace, 0);
        elsewhere.header.server = ServerId(1);
        sender.queue(&elsewhere);
        let at = Spot {
            directory: FileId::ROOT,
            bucket: BucketStart(0),
            name: Name::new(&b"after"[..]).unwrap(),
        };
        let make = Request::MakeDirectory {
            at,
            mode: 0o755,
            uid: 0,
            gid: 0,
        };
        sender.queue(&request(1, 2, make, 0));
        elsewhere.header.sequence = 3;
        sender.queue(&elsewhere);
        sender.flush();
        ended(receiver).await;
    });
    assert_eq!(running.status().turned_away, 1);
    let names = running.client().metadata(b"/after", true);
    assert!(names.is_err(), "it was made: {names:?}");
    running.works();
}

#[test]
fn more_waits_than_allowed_are_answered_busy() {
    let running = start(4000);
    on_one_thread(async {
        let (receiver, sender) = running.proven(Role::Client).await;
        // Requests are answered one by one, so that only requests that wait for a lock can pile up.
        let lock = |sequence, owner, wait| {
            let id = FileId::ROOT;
            let lock = LockChange {
                space: LockSpace::Whole,
                kind: Some(LockKind::Exclusive),
                owner,
                range: LockRange {
                    start: 0,
                    end: u64::MAX,
                },
                pid: 1,
            };
            request(5, sequence, Request::SetLock { id, lock, wait }, 0)
        };
        sender.queue(&lock(1, 1, false));
        sender.flush();
        assert!(outcomes(&receiver, 1).await[0].1.is_ok());
        (2..2 + 4097).for_each(|n| sender.queue(&lock(n, n, true)));
        sender.flush();
        let refused = outcomes(&receiver, 1).await;
        assert_eq!(refused, [(2 + 4096, Err(Failure::Busy))]);
        sender.queue(&request(5, 9999, Request::GetSpace, 0));
        sender.flush();
        assert!(outcomes(&receiver, 1).await[0].1.is_ok());
    });
    assert_eq!(running.status().busy, 1);
    running.works();
}

#[test]
fn a_client_that_does_not_read_replies_delays_no_other() {
    let running = start(4000);
    let client = running.client();
    let file = client.open(
        b"/f",
        OpenOptions {
            create: true,
            mode: 0o600,
            ..OpenOptions::default()
        },
    );
    let file = file.unwrap();
    file.write_at(0, Bytes::from(vec![1; 1 << 20])).unwrap();
    let id = file.metadata().unwrap().id;
    on_one_thread(async {
        let (receiver, sender) = running.proven(Role::Client).await;
        for sequence in 1..=2000 {
            let length = 1 << 20;
            let read = Request::Read {
                id,
                offset: 0,
                length,
            };
            sender.queue(&request(6, sequence, read, 0));
        }
        sender.flush();
        let beside = client.clone();
        tokio::task::spawn_blocking(move || beside.metadata(b"/", true).unwrap())
            .await
            .unwrap();
        drop(receiver);
    });
    assert!(running.status().resident_bytes < 1 << 30);
    running.works();
}

#[test]
fn metrics_are_offered_over_http() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    metrics_exporter::serve(address).unwrap();
    let running = start(4000);
    running.works();
    // The first figures appear with the first tick.
    let found = (0..100_000).any(|_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.contains("futago_limit_bytes{server=\"0\"}")
    });
    assert!(found);
    let again = metrics_exporter::serve(address).unwrap_err();
    assert!(again.to_string().contains(&address.to_string()), "{again}");
}

#[test]
fn an_address_in_use_is_named() {
    let running = start(4000);
    let Err(error) = Servers::start(&config(&running.cluster)) else {
        panic!("two servers at one address")
    };
    assert!(error.to_string().contains("0.sock"), "{error}");
    running.works();
}
