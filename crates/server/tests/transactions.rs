//! Transactions over two servers: their visibility before, during and after, and their end when
//! their clients die.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{Cluster, ROOT, file, peers, spot};
use futago_base::{
    BucketStart, Duration, Errno, FileId, Key, Kind, Partition, ServerId, SessionId, Time,
    TransactionId,
    record::{Entry, LockKind, LockRange, LockSpace, TransactionState},
};
use futago_server::{Config, Input, Output, TransactionCounts};
use futago_wire::{
    AttributeChange, Failure, LockChange, NewContent, NewDirectory, NewNode, Outcome, Peer,
    PeerAnswer, PeerChange, Reply, Request, Step, step::Inherited,
};

/// A cluster of two servers with the directory `d` on server 1, and the file `a` in the root on
/// server 0.
fn two_servers() -> (Cluster, FileId, Entry) {
    let mut cluster = Cluster::new(2, Config::default());
    let new = NewDirectory {
        home: Partition(1),
        parent: ROOT,
        mode: 0o755,
        uid: 0,
        gid: 0,
        chunk_bytes: 0,
        depth: 1,
    };
    let Ok(Reply::Executed(Some(directory))) =
        cluster.ask(1, Request::Execute(vec![Step::CreateDirectory(new)]))
    else {
        panic!("no directory");
    };
    let entry = Entry {
        id: directory,
        kind: Kind::Directory,
    };
    let put = Step::PutEntry {
        at: spot(ROOT, "d"),
        entry,
        replaces: None,
    };
    cluster.ask(0, Request::Execute(vec![put])).unwrap();
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    (
        cluster,
        directory,
        Entry {
            id: file,
            kind: Kind::File,
        },
    )
}

fn next_transaction(cluster: &mut Cluster) -> TransactionId {
    let id = cluster.next_id();
    TransactionId {
        session: id.session,
        sequence: id.sequence,
    }
}

fn prepare(cluster: &Cluster, id: TransactionId, steps: Vec<Step>) -> Request {
    Request::Prepare {
        transaction: id,
        age: cluster.now,
        status_server: ServerId(0),
        participants: vec![ServerId(0), ServerId(1)],
        steps,
    }
}

fn remove_entry(entry: Entry) -> Step {
    Step::RemoveEntry {
        at: spot(ROOT, "a"),
        expected: entry,
    }
}

/// Prepares a transaction with these steps on server 0 and on server 1.
fn prepare_on_both(cluster: &mut Cluster, here: Vec<Step>, there: Vec<Step>) -> TransactionId {
    let id = next_transaction(cluster);
    for (server, steps) in [(0, here), (1, there)] {
        let request = prepare(cluster, id, steps);
        assert_eq!(cluster.ask(server, request), Ok(Reply::Prepared(None)));
    }
    id
}

/// Prepares the rename of `/a` to `/d/b` on both servers.
fn prepare_rename(cluster: &mut Cluster, directory: FileId, entry: Entry) -> TransactionId {
    let here = vec![remove_entry(entry), Step::Touch(entry.id)];
    let there = vec![Step::PutEntry {
        at: spot(directory, "b"),
        entry,
        replaces: None,
    }];
    prepare_on_both(cluster, here, there)
}

/// Prepares the removal of `/a` on server 0, and a change of `/d` on server 1.
fn prepare_removal(cluster: &mut Cluster, directory: FileId, entry: Entry) -> TransactionId {
    let here = vec![remove_entry(entry), Step::DropLink(entry.id)];
    let there = vec![Step::Touch(directory)];
    prepare_on_both(cluster, here, there)
}

fn found(outcome: &Outcome) -> bool {
    match outcome {
        Ok(Reply::Found { .. }) => true,
        Err(Failure::Errno(Errno::ENOENT)) => false,
        other => panic!("neither found nor missing: {other:?}"),
    }
}

fn lookups(cluster: &mut Cluster, directory: FileId) -> (bool, bool) {
    let old = cluster.run(0, Request::Lookup(spot(ROOT, "a")));
    let new = cluster.run(1, Request::Lookup(spot(directory, "b")));
    (found(&old), found(&new))
}

#[test]
fn a_committed_transaction_is_seen_at_once_even_where_it_is_not_resolved() {
    let (mut cluster, directory, entry) = two_servers();
    let transaction = prepare_rename(&mut cluster, directory, entry);
    let id = cluster.next_id();
    // The message to server 1 is lost.
    let outputs = cluster.request(
        0,
        id,
        Request::Decide {
            transaction,
            commit: true,
        },
    );
    let seen = PeerChange::Resolve {
        transaction,
        committed: true,
    };
    assert!(
        matches!(&peers(&outputs)[..], [(ServerId(1), Peer::Deliver { change, .. })] if *change == seen)
    );
    assert_eq!(lookups(&mut cluster, directory), (false, true));
}

#[test]
fn a_request_that_meets_a_locator_waits_and_asks_the_status_server() {
    let (mut cluster, directory, entry) = two_servers();
    let transaction = prepare_rename(&mut cluster, directory, entry);
    let id = cluster.next_id();
    let outputs = cluster.request(1, id, Request::Lookup(spot(directory, "b")));
    let asks = Peer::Ask {
        sender: ServerId(1),
        transaction,
        abort: false,
    };
    assert_eq!(peers(&outputs), [(ServerId(0), asks.clone())]);
    assert_eq!(outputs.len(), 1, "no answer yet");
    let state = PeerAnswer::State {
        transaction,
        state: TransactionState::Active,
    };
    let answer = Output::PeerAnswer {
        to: ServerId(1),
        answer: state,
    };
    assert_eq!(cluster.input(0, Input::Peer(asks)), [answer]);
    assert_eq!(cluster.input(1, Input::PeerAnswer(state)), []);
    assert_eq!(
        cluster.request(1, id, Request::Lookup(spot(directory, "b"))),
        [],
        "a copy waits too"
    );
    let decide = cluster.next_id();
    let outputs = cluster.request(
        0,
        decide,
        Request::Decide {
            transaction,
            commit: true,
        },
    );
    let answers = cluster.settle(0, outputs);
    assert_eq!(
        answers[0],
        (decide, Ok(Reply::Decided(TransactionState::Committed)))
    );
    assert!(answers[1].0 == id && found(&answers[1].1));
}

#[test]
fn a_request_that_waits_for_a_lost_status_server_is_busy() {
    let (mut cluster, directory, entry) = two_servers();
    let transaction = prepare_rename(&mut cluster, directory, entry);
    let id = cluster.next_id();
    let busy = Output::Reply {
        request: id,
        outcome: Err(Failure::Busy),
        payload: futago_base::Payload::empty(),
    };
    for attempt in 0..3 {
        let outputs = cluster.request(1, id, Request::Lookup(spot(directory, "b")));
        assert!(!outputs.contains(&busy), "attempt {attempt}: {outputs:?}");
        cluster.now = cluster.now + Duration::from_secs(5);
        let outputs = cluster.input(1, Input::Tick);
        assert!(outputs.contains(&busy), "attempt {attempt}: {outputs:?}");
    }
    // Once the status server is back, a repeated request gets its reply.
    let answer = PeerAnswer::State {
        transaction,
        state: TransactionState::Aborted,
    };
    cluster.request(1, id, Request::Lookup(spot(directory, "b")));
    let outputs = cluster.input(1, Input::PeerAnswer(answer));
    let missing = |output: &Output| matches!(output, Output::Reply { request, outcome: Err(Failure::Errno(Errno::ENOENT)), .. } if *request == id);
    assert!(outputs.iter().any(missing), "{outputs:?}");
}

#[test]
fn data_of_a_closed_file_waits_until_it_is_decided_whether_the_file_stays() {
    let (mut cluster, directory, entry) = two_servers();
    let transaction = prepare_removal(&mut cluster, directory, entry);
    let read = cluster.next_id();
    let request = Request::Read {
        id: entry.id,
        offset: 0,
        length: 1,
    };
    assert_eq!(cluster.request(0, read, request), [], "no answer yet");
    let decide = cluster.next_id();
    let commit = Request::Decide {
        transaction,
        commit: true,
    };
    let outputs = cluster.request(0, decide, commit);
    let answers = cluster.settle(0, outputs);
    assert!(answers.contains(&(read, Err(Failure::Errno(Errno::ESTALE)))));
}

/// Otherwise it would wait again although its client has given up, and take the lock in the end.
#[test]
fn a_copy_of_a_request_that_waits_for_a_lock_does_not_wait_for_a_transaction() {
    let (mut cluster, directory, entry) = two_servers();
    let set = |owner, wait| Request::SetLock {
        id: entry.id,
        lock: LockChange {
            space: LockSpace::Range,
            kind: Some(LockKind::Exclusive),
            owner,
            range: LockRange { start: 0, end: 9 },
            pid: 1,
        },
        wait,
    };
    cluster.ask(0, set(1, false)).unwrap();
    let waiting = cluster.next_id();
    assert_eq!(cluster.request(0, waiting, set(2, true)), []);
    let transaction = prepare_removal(&mut cluster, directory, entry);
    assert_eq!(cluster.request(0, waiting, set(2, true)), [], "a copy");
    let cancel = Request::CancelLock {
        id: entry.id,
        sequence: waiting.sequence,
    };
    let cancelling = cluster.next_id();
    let seen = cluster.request(0, cancelling, cancel);
    assert_eq!(seen.len(), 2, "both have answers: {seen:?}");
    let abort = Request::Decide {
        transaction,
        commit: false,
    };
    cluster.run(0, abort).unwrap();
    let mut records = cluster.stores[0].records();
    assert!(!records.any(|(key, _)| matches!(key, Key::LockWaiters(_))));
}

/// A symbolic link on server 1 whose name a rename from server 0 has replaced. Server 1 does not
/// know it yet.
fn replaced_symlink() -> (Cluster, FileId) {
    let (mut cluster, directory, entry) = two_servers();
    let node = NewNode {
        content: NewContent::Symlink("target".into()),
        ..file()
    };
    let create = Request::Create {
        at: spot(directory, "l"),
        node,
        exclusive: true,
        open: false,
    };
    let Ok(Reply::Found {
        entry: replaced, ..
    }) = cluster.ask(1, create)
    else {
        panic!("no symbolic link");
    };
    let transaction = next_transaction(&mut cluster);
    let here = vec![Step::RemoveEntry {
        at: spot(ROOT, "a"),
        expected: entry,
    }];
    let there = vec![
        Step::PutEntry {
            at: spot(directory, "l"),
            entry,
            replaces: Some(replaced),
        },
        Step::DropLink(replaced.id),
    ];
    for (server, steps) in [(0, here), (1, there)] {
        let prepare = prepare(&cluster, transaction, steps);
        cluster.ask(server, prepare).unwrap();
    }
    let decide = cluster.next_id();
    let commit = Request::Decide {
        transaction,
        commit: true,
    };
    // The message to server 1 is lost.
    cluster.request(0, decide, commit);
    (cluster, replaced.id)
}

#[test]
fn a_file_unlinked_by_an_unresolved_transaction_is_not_found_by_its_id() {
    let lock = LockChange {
        space: LockSpace::Range,
        kind: Some(LockKind::Shared),
        owner: 1,
        range: LockRange { start: 0, end: 9 },
        pid: 0,
    };
    let requests: [fn(FileId, LockChange) -> Request; 4] = [
        |id, _| Request::ReadLink(id),
        |id, lock| Request::TestLock { id, lock },
        |id, lock| Request::SetLock {
            id,
            lock,
            wait: false,
        },
        |id, _| Request::Close(id),
    ];
    for request in requests {
        let (mut cluster, id) = replaced_symlink();
        let request = request(id, lock);
        assert_eq!(
            cluster.run(1, request.clone()),
            Err(Failure::Errno(Errno::ESTALE)),
            "{request:?}"
        );
    }
}

#[test]
fn a_transaction_whose_client_died_is_aborted_after_the_grace_time() {
    let (mut cluster, directory, entry) = two_servers();
    prepare_rename(&mut cluster, directory, entry);
    let id = cluster.next_id();
    let outputs = cluster.request(1, id, Request::Lookup(spot(directory, "b")));
    assert_eq!(cluster.settle(1, outputs), []);
    cluster.now = cluster.now + cluster.servers[0].config().grace + Duration(1_000_000);
    let outputs = cluster.input(1, Input::Tick);
    let answers = cluster.settle(1, outputs);
    assert!(
        matches!(answers.as_slice(), [(answered, outcome)] if *answered == id && !found(outcome))
    );
    assert_eq!(lookups(&mut cluster, directory), (true, false));
}

#[test]
fn an_older_transaction_does_not_wait_for_a_younger_one() {
    let (mut cluster, directory, entry) = two_servers();
    let younger = prepare_rename(&mut cluster, directory, entry);
    let older = TransactionId {
        session: younger.session,
        sequence: 1_000,
    };
    let request = Request::Prepare {
        transaction: older,
        age: Time(1),
        status_server: ServerId(0),
        participants: vec![ServerId(0)],
        steps: vec![Step::RemoveEntry {
            at: spot(ROOT, "a"),
            expected: entry,
        }],
    };
    assert_eq!(cluster.run(0, request), Ok(Reply::Prepared(None)));
    let late = Request::Decide {
        transaction: younger,
        commit: true,
    };
    assert_eq!(
        cluster.run(0, late),
        Ok(Reply::Decided(TransactionState::Aborted))
    );
    let counts = TransactionCounts {
        begun: 2,
        committed: 0,
        aborted: 1,
        conflicts: 1,
    };
    assert_eq!(cluster.transactions, counts);
}

/// Two transactions of the same age must not wait for each other until the grace time is over.
#[test]
fn of_two_transactions_of_one_age_one_gives_way_at_once() {
    let (mut cluster, directory, entry) = two_servers();
    let first = prepare_rename(&mut cluster, directory, entry);
    let age = Time(cluster.now.0 - 2_000);
    let remove = |transaction| Request::Prepare {
        transaction,
        age,
        status_server: ServerId(0),
        participants: vec![ServerId(0)],
        steps: vec![Step::RemoveEntry {
            at: spot(ROOT, "a"),
            expected: entry,
        }],
    };
    let of_session = |session| TransactionId {
        session: SessionId(session),
        ..first
    };
    assert_eq!(
        cluster.run(0, remove(of_session(6))),
        Ok(Reply::Prepared(None))
    );
    let waits = cluster.next_id();
    assert_eq!(cluster.request(0, waits, remove(of_session(8))), []);
}

#[test]
fn a_transaction_is_counted_by_the_server_that_keeps_its_status() {
    let (mut cluster, directory, entry) = two_servers();
    let transaction = prepare_rename(&mut cluster, directory, entry);
    let decide = |commit| Request::Decide {
        transaction,
        commit,
    };
    cluster.run(0, decide(true)).unwrap();
    cluster.run(0, decide(false)).unwrap();
    // A failed transaction has not begun.
    let unknown = next_transaction(&mut cluster);
    let missing = Step::RemoveEntry {
        at: spot(ROOT, "a"),
        expected: entry,
    };
    let request = prepare(&cluster, unknown, vec![missing]);
    assert_eq!(cluster.run(0, request), Err(Failure::Changed));
    let counts = TransactionCounts {
        begun: 1,
        committed: 1,
        ..TransactionCounts::default()
    };
    assert_eq!(cluster.transactions, counts);
}

#[test]
fn nothing_is_left_of_a_resolved_transaction() {
    let (mut cluster, directory, entry) = two_servers();
    let transaction = prepare_rename(&mut cluster, directory, entry);
    cluster
        .run(
            0,
            Request::Decide {
                transaction,
                commit: true,
            },
        )
        .unwrap();
    for store in &cluster.stores {
        let left: Vec<_> = store
            .records()
            .filter(|(key, _)| {
                matches!(
                    key,
                    Key::Locator(_)
                        | Key::Participant(_)
                        | Key::TransactionStatus(_)
                        | Key::Outbox(..)
                        | Key::Parked(..)
                        | Key::HeldReply(_)
                )
            })
            .collect();
        assert_eq!(left, []);
    }
}

#[test]
fn a_directory_with_a_name_on_its_way_in_is_not_removed() {
    let (mut cluster, directory, entry) = two_servers();
    let transaction = prepare_rename(&mut cluster, directory, entry);
    let id = cluster.next_id();
    let bucket = BucketStart(0);
    let removal = Request::Execute(vec![Step::RemoveBucket {
        directory,
        bucket,
        level: 0,
    }]);
    let outputs = cluster.request(1, id, removal);
    assert_eq!(cluster.settle(1, outputs), []);
    let decide = cluster.next_id();
    let outputs = cluster.request(
        0,
        decide,
        Request::Decide {
            transaction,
            commit: true,
        },
    );
    let answers = cluster.settle(0, outputs);
    let refused = Err(Failure::Errno(Errno::ENOTEMPTY));
    assert!(answers.contains(&(id, refused)), "{answers:?}");
}

#[test]
fn inherited_attributes_stay_until_the_directory_is_made() {
    let mut cluster = Cluster::new(2, Config::default());
    let inherited = |set_gid, gid| Step::Inherit {
        directory: ROOT,
        bucket: BucketStart(0),
        inherited: Inherited {
            set_gid,
            gid,
            chunk_bytes: 0,
        },
    };
    let put = Step::PutEntry {
        at: spot(ROOT, "d"),
        entry: Entry {
            id: FileId::new(Partition(1), 9),
            kind: Kind::Directory,
        },
        replaces: None,
    };
    let change = AttributeChange {
        mode: Some(0o2755),
        gid: Some(5),
        ..AttributeChange::default()
    };
    let chmod = Request::SetAttributes { id: ROOT, change };
    let id = next_transaction(&mut cluster);
    let steps = vec![inherited(false, 0), put.clone()];
    let request = prepare(&cluster, id, steps);
    cluster.ask(0, request).unwrap();
    let waiting = cluster.next_id();
    assert_eq!(cluster.request(0, waiting, chmod), []);
    let commit = Request::Decide {
        transaction: id,
        commit: true,
    };
    let decide = cluster.next_id();
    let outputs = cluster.request(0, decide, commit);
    let answers = cluster.settle(0, outputs);
    assert!(
        answers
            .iter()
            .any(|(id, outcome)| *id == waiting && outcome.is_ok())
    );
    let late = Request::Execute(vec![inherited(false, 0)]);
    assert_eq!(cluster.ask(0, late), Err(Failure::Changed));
    let right = Request::Execute(vec![inherited(true, 5)]);
    assert!(cluster.ask(0, right).is_ok());
}
