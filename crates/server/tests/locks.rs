//! Advisory locks between sessions.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{Cluster, ROOT, spot};
use futago_base::{
    Errno, FileId, Payload, RequestId, SessionId,
    record::{LockKind, LockRange, LockSpace},
};
use futago_server::{Config, Output};
use futago_wire::{Failure, LockChange, Outcome, Reply, Request};

fn change(kind: Option<LockKind>, start: u64, end: u64) -> LockChange {
    let range = LockRange { start, end };
    LockChange {
        space: LockSpace::Range,
        kind,
        owner: 1,
        range,
        pid: 1,
    }
}

struct Locker {
    cluster: Cluster,
    file: FileId,
    sequence: u64,
}

impl Locker {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        let mut cluster = Cluster::new(1, config);
        let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
        Self {
            cluster,
            file,
            sequence: 0,
        }
    }

    fn set(&mut self, session: u64, lock: LockChange, wait: bool) -> (RequestId, Vec<Output>) {
        self.sequence += 1;
        let id = RequestId {
            session: SessionId(session),
            sequence: self.sequence,
        };
        let request = Request::SetLock {
            id: self.file,
            lock,
            wait,
        };
        (id, self.cluster.request(0, id, request))
    }

    /// The range of the first lock that conflicts with an exclusive lock of the whole range.
    fn in_the_way(&mut self, session: u64, start: u64, end: u64) -> Option<LockRange> {
        self.sequence += 1;
        let id = RequestId {
            session: SessionId(session),
            sequence: self.sequence,
        };
        let request = Request::TestLock {
            id: self.file,
            lock: change(Some(LockKind::Exclusive), start, end),
        };
        match self.cluster.request(0, id, request).as_slice() {
            [
                Output::Reply {
                    outcome: Ok(Reply::Lock(lock)),
                    ..
                },
            ] => lock.map(|lock| lock.range),
            other => panic!("no answer: {other:?}"),
        }
    }

    fn take(&mut self, session: u64, kind: LockKind, start: u64, end: u64) -> Outcome {
        match self
            .set(session, change(Some(kind), start, end), false)
            .1
            .as_slice()
        {
            [Output::Reply { outcome, .. }] => outcome.clone(),
            other => panic!("no answer: {other:?}"),
        }
    }
}

fn answer(request: RequestId, outcome: Outcome) -> Output {
    Output::Reply {
        request,
        outcome,
        payload: Payload::empty(),
    }
}

const AGAIN: Outcome = Err(Failure::Errno(Errno::EAGAIN));

#[test]
fn locks_exclude_other_sessions_where_they_overlap() {
    let mut locker = Locker::new();
    assert_eq!(locker.take(1, LockKind::Exclusive, 0, 9), Ok(Reply::Done));
    assert_eq!(locker.take(2, LockKind::Shared, 5, 20), AGAIN);
    assert_eq!(locker.take(2, LockKind::Shared, 10, 20), Ok(Reply::Done));
    assert_eq!(locker.take(1, LockKind::Shared, 15, 16), Ok(Reply::Done));
    assert_eq!(locker.take(1, LockKind::Exclusive, 15, 16), AGAIN);
}

#[test]
fn unlocking_the_middle_leaves_both_ends() {
    let mut locker = Locker::new();
    locker.take(1, LockKind::Exclusive, 0, 99).unwrap();
    locker.set(1, change(None, 40, 59), false);
    assert_eq!(locker.take(2, LockKind::Exclusive, 40, 59), Ok(Reply::Done));
    assert_eq!(locker.take(2, LockKind::Exclusive, 39, 39), AGAIN);
    assert_eq!(locker.take(2, LockKind::Exclusive, 60, 60), AGAIN);
}

#[test]
fn a_file_has_a_limited_number_of_locks() {
    let mut locker = Locker::with(Config {
        file_locks_max: 3,
        ..Config::default()
    });
    let full = Err(Failure::Errno(Errno::ENOLCK));
    assert_eq!(locker.take(1, LockKind::Exclusive, 0, 9), Ok(Reply::Done));
    assert_eq!(locker.take(1, LockKind::Exclusive, 20, 29), Ok(Reply::Done));
    // Two more than before: the ends of the split lock.
    assert_eq!(locker.take(1, LockKind::Shared, 4, 5), full);
    assert_eq!(locker.take(2, LockKind::Exclusive, 40, 49), Ok(Reply::Done));
    let (waiting, _) = locker.set(2, change(Some(LockKind::Shared), 5, 5), true);
    let (unlock, outputs) = locker.set(1, change(None, 4, 5), false);
    assert_eq!(outputs, [answer(unlock, full.clone())]);
    // A change that makes no more locks is possible, but its waiter would need one more.
    let weaker = change(Some(LockKind::Shared), 0, 9);
    let (weakened, outputs) = locker.set(1, weaker, false);
    assert_eq!(
        outputs,
        [answer(waiting, full), answer(weakened, Ok(Reply::Done))]
    );
    let (unlock, outputs) = locker.set(1, change(None, 0, 29), false);
    assert_eq!(outputs, [answer(unlock, Ok(Reply::Done))]);
    assert_eq!(locker.take(2, LockKind::Shared, 5, 5), Ok(Reply::Done));
}

#[test]
fn of_several_locks_in_the_way_the_first_in_the_file_is_reported() {
    let mut locker = Locker::new();
    for (start, end) in [(20, 29), (0, 9)] {
        let taken = locker.take(1, LockKind::Exclusive, start, end);
        assert_eq!(taken, Ok(Reply::Done));
    }
    // A shared lock in the middle splits one lock into three.
    let taken = locker.take(1, LockKind::Shared, 4, 5);
    assert_eq!(taken, Ok(Reply::Done));
    let range = |start, end| Some(LockRange { start, end });
    assert_eq!(locker.in_the_way(2, 0, 99), range(0, 3));
    assert_eq!(locker.in_the_way(2, 4, 99), range(4, 5));
    assert_eq!(locker.in_the_way(2, 6, 99), range(6, 9));
    assert_eq!(locker.in_the_way(2, 10, 99), range(20, 29));
    assert_eq!(locker.in_the_way(2, 30, 99), None);
}

#[test]
fn a_waiting_lock_is_granted_when_the_holder_lets_go_and_copies_wait_too() {
    let mut locker = Locker::new();
    locker.take(1, LockKind::Exclusive, 0, 9).unwrap();
    let wanted = change(Some(LockKind::Exclusive), 0, 9);
    let (waiting, outputs) = locker.set(2, wanted, true);
    assert_eq!(outputs, []);
    let copy = Request::SetLock {
        id: locker.file,
        lock: wanted,
        wait: true,
    };
    assert_eq!(locker.cluster.request(0, waiting, copy), []);
    let (unlock, outputs) = locker.set(1, change(None, 0, 9), false);
    assert_eq!(
        outputs,
        [
            answer(waiting, Ok(Reply::Done)),
            answer(unlock, Ok(Reply::Done))
        ]
    );
    assert_eq!(locker.take(1, LockKind::Shared, 0, 0), AGAIN);
}

#[test]
fn a_cancelled_wait_is_interrupted_and_takes_nothing() {
    let mut locker = Locker::new();
    locker.take(1, LockKind::Exclusive, 0, 9).unwrap();
    let (waiting, _) = locker.set(2, change(Some(LockKind::Exclusive), 0, 9), true);
    let cancel = RequestId {
        session: SessionId(2),
        sequence: 90,
    };
    let request = Request::CancelLock {
        id: locker.file,
        sequence: waiting.sequence,
    };
    let interrupted = Err(Failure::Errno(Errno::EINTR));
    assert_eq!(
        locker.cluster.request(0, cancel, request),
        [
            answer(waiting, interrupted),
            answer(cancel, Ok(Reply::Done))
        ]
    );
    locker.set(1, change(None, 0, 9), false);
    assert_eq!(locker.take(3, LockKind::Exclusive, 0, 9), Ok(Reply::Done));
}

#[test]
fn locks_of_an_ended_session_go_to_waiting_requests() {
    let mut locker = Locker::new();
    locker.take(1, LockKind::Exclusive, 0, 9).unwrap();
    let (waiting, _) = locker.set(2, change(Some(LockKind::Shared), 3, 3), true);
    let end = RequestId {
        session: SessionId(1),
        sequence: 90,
    };
    assert_eq!(
        locker.cluster.request(0, end, Request::EndSession),
        [
            answer(waiting, Ok(Reply::Done)),
            answer(end, Ok(Reply::Done))
        ]
    );
}

#[test]
fn a_request_that_waits_for_a_lock_of_a_removed_file_fails() {
    let mut locker = Locker::new();
    locker.take(1, LockKind::Exclusive, 0, 9).unwrap();
    let (waiting, outputs) = locker.set(2, change(Some(LockKind::Shared), 0, 9), true);
    assert_eq!(outputs, [], "no answer yet");
    let id = locker.cluster.next_id();
    let outputs = locker.cluster.request(
        0,
        id,
        Request::Unlink {
            at: spot(ROOT, "a"),
            file: None,
        },
    );
    let stale = Err(Failure::Errno(Errno::ESTALE));
    assert!(outputs.contains(&answer(waiting, stale)), "{outputs:?}");
    assert!(
        outputs.contains(&answer(id, Ok(Reply::Done))),
        "{outputs:?}"
    );
}
