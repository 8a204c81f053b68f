//! A server that a loss of power has set back.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{CHUNK_BYTES, Cluster, ROOT, peers, spot};
use futago_base::{
    Batch, ChunkId, FileId, Key, SessionId, View,
    record::{LockKind, LockRange, LockSpace, Truncations},
};
use futago_server::{Config, Input};
use futago_store::MemoryStore;
use futago_wire::{Failure, LockChange, Peer, Reply, Request};

/// The session of the requests of a test cluster.
const SESSION: SessionId = SessionId(7);
const END: u64 = CHUNK_BYTES as u64 + 4;

/// A server whose store is what it was some requests ago.
struct SetBack {
    cluster: Cluster,
    earlier: MemoryStore,
}

impl SetBack {
    /// All that server 0 does from now on is lost.
    fn from(cluster: Cluster) -> Self {
        let mut earlier = MemoryStore::new(1 << 30);
        let records = cluster.stores[0].records();
        let records = records.map(|(key, value)| (key.clone(), Some(value.clone())));
        earlier.apply(Batch {
            records: records.collect(),
            ..Batch::default()
        });
        Self { cluster, earlier }
    }

    fn lose(mut self) -> Cluster {
        self.cluster.stores[0] = self.earlier;
        let outputs = self.cluster.input(0, Input::Lost);
        self.cluster.settle(0, outputs);
        self.cluster
    }
}

fn set_lock(id: FileId) -> Request {
    let lock = LockChange {
        space: LockSpace::Range,
        kind: Some(LockKind::Exclusive),
        owner: 1,
        range: LockRange { start: 0, end: 9 },
        pid: 1,
    };
    Request::SetLock {
        id,
        lock,
        wait: false,
    }
}

#[test]
fn an_identity_that_a_client_knows_is_not_assigned_again() {
    let mut set_back = SetBack::from(Cluster::one());
    let lost = set_back.cluster.create(0, spot(ROOT, "a")).attributes.id;
    let mut cluster = set_back.lose();
    cluster.sequence = 0;
    let id = cluster.next_id();
    let other = futago_base::RequestId {
        session: SessionId(8),
        ..id
    };
    let outputs = cluster.request(0, other, cluster::create(spot(ROOT, "a")));
    let made = match &cluster.settle(0, outputs)[..] {
        [(_, Ok(Reply::Found { entry, .. }))] => entry.id,
        other => panic!("not created: {other:?}"),
    };
    assert_ne!(made, lost);
    assert_eq!(made.home(), lost.home());
}

#[test]
fn all_sessions_end_with_what_they_hold() {
    let mut cluster = Cluster::new(2, Config::default());
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.ask(0, Request::Open(file)).unwrap();
    cluster.ask(0, set_lock(file)).unwrap();
    // The other server serves the session no more before the lock is free.
    let outputs = cluster.input(0, Input::Lost);
    let fences = peers(&outputs).into_iter().map(|(_, message)| message);
    let is_fence = |message: Peer| {
        matches!(
            message,
            Peer::Fence {
                session: SESSION,
                ..
            }
        )
    };
    assert!(fences.map(is_fence).eq([true]));
    let store = |cluster: &Cluster| cluster.stores[0].get(&Key::Opens(file)).is_some();
    assert!(store(&cluster));
    cluster.settle(0, outputs);
    assert!(!store(&cluster));
    for server in [0, 1] {
        let expired = Err(Failure::SessionExpired);
        assert_eq!(cluster.ask(server, Request::KeepAlive), expired);
    }
}

/// The size of a file is at its home, and its second chunk on the other server.
#[test]
fn data_of_a_lost_write_does_not_appear_when_the_file_grows() {
    let mut cluster = Cluster::new(2, Config::default());
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.ask(0, Request::Open(file)).unwrap();
    cluster.run(0, cluster::write(file, 0, END)).unwrap();
    let mut set_back = SetBack::from(cluster);
    let reach = END + 1000;
    let prepare = Request::PrepareWrite { id: file, reach };
    set_back.cluster.run(0, prepare).unwrap();
    let chunk = ChunkId { file, index: 1 };
    let write = Request::WriteChunk {
        chunk,
        offset: 4,
        chunk_bytes: CHUNK_BYTES,
        truncations: Truncations::default(),
    };
    set_back.cluster.ask_with(1, write, b"lost").0.unwrap();
    let cluster = set_back.lose();
    let data = cluster.stores[1].data(chunk);
    assert_eq!(data.map_or(0, |data| data.end()), 0);
}
