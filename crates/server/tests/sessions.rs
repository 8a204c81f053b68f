//! Clients that are silent for a lease.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{Cluster, ROOT, peers, spot};
use futago_base::{
    Duration, FileId, Payload, RequestId, ServerId, SessionId,
    record::{LockKind, LockRange, LockSpace},
};
use futago_server::{Config, Input, Output};
use futago_wire::{Failure, LockChange, Outcome, Peer, PeerAnswer, Reply, Request};

const STOPPED: SessionId = SessionId(101);
const WAITING: SessionId = SessionId(102);
/// The home of the root and of its files.
const HOME: u16 = 0;

/// A client that has locked a file, and one that waits for the lock.
struct Room {
    cluster: Cluster,
    file: FileId,
}

impl Room {
    fn new(servers: usize) -> Self {
        let mut cluster = Cluster::new(servers, Config::default());
        let file = cluster.create(HOME, spot(ROOT, "file")).attributes.id;
        let mut room = Self { cluster, file };
        let locked = room.send(STOPPED, HOME, room.lock(), true);
        assert!(matches!(outcomes(&locked)[..], [Ok(Reply::Done)]));
        room
    }

    fn lock(&self) -> Request {
        let lock = LockChange {
            space: LockSpace::Range,
            kind: Some(LockKind::Exclusive),
            owner: 1,
            range: LockRange {
                start: 0,
                end: u64::MAX,
            },
            pid: 1,
        };
        Request::SetLock {
            id: self.file,
            lock,
            wait: true,
        }
    }

    fn send(
        &mut self,
        session: SessionId,
        to: u16,
        request: Request,
        introduces: bool,
    ) -> Vec<Output> {
        let sequence = self.cluster.next_id().sequence;
        let input = Input::Request {
            id: RequestId { session, sequence },
            acknowledged: 0,
            request,
            payload: Payload::empty(),
            leases: false,
            introduces,
        };
        self.cluster.input(to, input)
    }

    /// Whether a server serves a session.
    fn serves(&mut self, session: SessionId, server: u16, introduces: bool) -> bool {
        let outputs = self.send(session, server, Request::KeepAlive, introduces);
        match outcomes(&outputs)[..] {
            [Ok(Reply::Done)] => true,
            [Err(Failure::SessionExpired)] => false,
            ref other => panic!("{other:?}"),
        }
    }

    /// The second client waits for the lock; then a lease passes without a message of the first
    /// one.
    fn let_a_lease_pass(&mut self) -> Vec<Output> {
        self.pass(Duration(self.lease().0 / 2));
        self.send(WAITING, HOME, self.lock(), true);
        self.pass(Duration(self.lease().0 / 2 + 1));
        self.serves(WAITING, HOME, false);
        self.cluster.input(HOME, Input::Tick)
    }

    fn lease(&self) -> Duration {
        self.cluster.servers[0].config().lease
    }

    fn pass(&mut self, time: Duration) {
        self.cluster.now = self.cluster.now + time;
    }
}

#[test]
fn no_client_has_the_session_that_stands_for_no_client() {
    let mut room = Room::new(1);
    let refused = room.send(SessionId(0), HOME, Request::KeepAlive, true);
    assert_eq!(outcomes(&refused), [Err(Failure::SessionExpired)]);
}

fn outcomes(outputs: &[Output]) -> Vec<Outcome> {
    let of = |output: &Output| match output {
        Output::Reply { outcome, .. } => Some(outcome.clone()),
        _ => None,
    };
    outputs.iter().filter_map(of).collect()
}

fn fence() -> Peer {
    Peer::Fence {
        sender: ServerId(HOME),
        session: STOPPED,
    }
}

fn fenced(receiver: u16) -> Input {
    Input::PeerAnswer(PeerAnswer::Fenced {
        receiver: ServerId(receiver),
        session: STOPPED,
    })
}

#[test]
fn locks_are_released_once_no_server_serves_their_session() {
    let mut room = Room::new(3);
    assert!(room.serves(STOPPED, 1, true));
    let seen = room.let_a_lease_pass();
    let to_others = [(ServerId(1), fence()), (ServerId(2), fence())];
    assert_eq!(peers(&seen), to_others);
    assert!(outcomes(&seen).is_empty(), "others may still serve it");
    assert!(!room.serves(STOPPED, HOME, false));
    // Server 1 knew the session, server 2 did not: neither serves it from now on.
    for server in [1, 2] {
        let answers = room.cluster.input(server, Input::Peer(fence()));
        let answer = PeerAnswer::Fenced {
            receiver: ServerId(server),
            session: STOPPED,
        };
        let to = ServerId(HOME);
        assert_eq!(answers, [Output::PeerAnswer { to, answer }]);
        assert!(!room.serves(STOPPED, server, server == 2));
    }
    assert!(outcomes(&room.cluster.input(HOME, fenced(1))).is_empty());
    assert!(
        outcomes(&room.cluster.input(HOME, fenced(1))).is_empty(),
        "a copy"
    );
    let granted = room.cluster.input(HOME, fenced(2));
    assert_eq!(outcomes(&granted), [Ok(Reply::Done)]);
    assert!(!room.serves(STOPPED, HOME, true));
}

/// Another server has lost a client that this one still hears. The client relies on its leases here
/// for a time after the last reply.
#[test]
fn a_fenced_session_keeps_what_it_holds_where_it_was_heard_less_than_a_lease_ago() {
    let mut room = Room::new(2);
    let lost_by_other = Peer::Fence {
        sender: ServerId(1),
        session: STOPPED,
    };
    let outputs = room.cluster.input(HOME, Input::Peer(lost_by_other));
    assert_eq!(peers(&outputs), [(ServerId(1), fence())]);
    room.send(WAITING, HOME, room.lock(), true);
    let answered = room.cluster.input(HOME, fenced(1));
    assert!(outcomes(&answered).is_empty());
    room.pass(Duration(room.lease().0 / 2));
    assert!(room.serves(WAITING, HOME, false));
    assert!(outcomes(&room.cluster.input(HOME, Input::Tick)).is_empty());
    room.pass(Duration(room.lease().0 / 2));
    let granted = room.cluster.input(HOME, Input::Tick);
    assert_eq!(outcomes(&granted), [Ok(Reply::Done)]);
}

#[test]
fn a_fence_is_resent_and_waits_for_one_lease() {
    let mut room = Room::new(2);
    room.let_a_lease_pass();
    room.pass(room.cluster.servers[0].config().resend);
    let again = room.cluster.input(HOME, Input::Tick);
    assert_eq!(peers(&again), [(ServerId(1), fence())]);
    room.pass(Duration(room.lease().0 / 2));
    assert!(room.serves(WAITING, HOME, false));
    room.pass(Duration(room.lease().0 / 2));
    let granted = room.cluster.input(HOME, Input::Tick);
    assert_eq!(outcomes(&granted), [Ok(Reply::Done)]);
    assert!(peers(&room.cluster.input(HOME, Input::Tick)).is_empty());
}

#[test]
fn a_session_without_locks_or_other_servers_is_fenced_without_messages() {
    let mut room = Room::new(1);
    assert_eq!(outcomes(&room.let_a_lease_pass()), [Ok(Reply::Done)]);
    let mut room = Room::new(2);
    assert!(room.serves(STOPPED, 1, true));
    room.pass(Duration(room.lease().0 + 1));
    assert!(room.cluster.input(1, Input::Tick).is_empty());
    assert!(!room.serves(STOPPED, 1, false));
}

#[test]
fn a_session_that_is_not_known_has_to_be_introduced() {
    let mut room = Room::new(2);
    assert!(!room.serves(STOPPED, 1, false));
    assert!(room.serves(STOPPED, 1, true));
    assert!(room.serves(STOPPED, 1, false));
}
