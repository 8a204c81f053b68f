//! Requests that arrive twice, late, or at a full server.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use bytes::Bytes;
use cluster::{CHUNK_BYTES, Cluster, ROOT, create, peers, spot};
use futago_base::{
    Batch, Duration, Errno, Key, Payload, RequestId, ServerId, SessionId, View,
    record::StoredMessage,
};
use futago_server::{Config, Input, Output};
use futago_wire::{Failure, Reply, Request, Step};

#[test]
fn a_copy_of_a_request_gets_the_saved_reply_and_changes_nothing() {
    let mut cluster = Cluster::one();
    let id = cluster.next_id();
    let first = cluster.request(0, id, create(spot(ROOT, "a")));
    let again = cluster.request(0, id, create(spot(ROOT, "a")));
    assert_eq!(first, again);
    assert_eq!(cluster.attributes(0, ROOT).attributes.size, 1);
}

#[test]
fn a_copy_of_a_failed_request_does_not_succeed_later() {
    let mut cluster = Cluster::one();
    cluster.create(0, spot(ROOT, "a"));
    let id = cluster.next_id();
    let first = cluster.request(0, id, create(spot(ROOT, "a")));
    cluster
        .ask(
            0,
            Request::Unlink {
                at: spot(ROOT, "a"),
                file: None,
            },
        )
        .unwrap();
    let late = cluster.request(0, id, create(spot(ROOT, "a")));
    assert_eq!(first, late);
    assert_eq!(
        cluster.ask(0, Request::Lookup(spot(ROOT, "a"))),
        Err(Failure::Errno(Errno::ENOENT))
    );
}

#[test]
fn a_copy_of_an_acknowledged_request_is_refused() {
    let mut cluster = Cluster::one();
    let old = cluster.next_id();
    cluster.request(0, old, create(spot(ROOT, "a")));
    let newer = cluster.next_id();
    cluster.input(
        0,
        Input::Request {
            id: newer,
            acknowledged: old.sequence,
            request: Request::Unlink {
                at: spot(ROOT, "a"),
                file: None,
            },
            payload: Payload::empty(),
            leases: false,
            introduces: true,
        },
    );
    let outputs = cluster.request(0, old, create(spot(ROOT, "a")));
    let refused = Output::Reply {
        request: old,
        outcome: Err(Failure::Late),
        payload: Payload::empty(),
    };
    assert_eq!(outputs, [refused]);
}

#[test]
fn a_silent_client_loses_its_open_files_and_its_session_expires() {
    let mut cluster = Cluster::one();
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.ask(0, Request::Open(file)).unwrap();
    cluster
        .ask(
            0,
            Request::Unlink {
                at: spot(ROOT, "a"),
                file: None,
            },
        )
        .unwrap();
    assert_eq!(
        cluster.stores[0].space_of_files(),
        2,
        "an unlinked open file lives"
    );
    let lease = cluster.servers[0].config().lease;
    cluster.now = cluster.now + lease + Duration(1_000_000);
    assert_eq!(cluster.input(0, Input::Tick), []);
    assert_eq!(
        cluster.stores[0].space_of_files(),
        1,
        "its last holder is gone, and so is it"
    );
    assert_eq!(
        cluster.ask(0, Request::KeepAlive),
        Err(Failure::SessionExpired)
    );
    let other = RequestId {
        session: SessionId(8),
        sequence: 1,
    };
    let outputs = cluster.request(0, other, Request::KeepAlive);
    let served = Output::Reply {
        request: other,
        outcome: Ok(Reply::Done),
        payload: Payload::empty(),
    };
    assert_eq!(outputs, [served]);
}

#[test]
fn a_file_without_a_name_lives_until_its_close_unless_it_is_given_one() {
    let mut cluster = Cluster::one();
    for named in [false, true] {
        let request = Request::CreateUnnamed {
            directory: ROOT,
            node: cluster::file(),
        };
        let Ok(Reply::Found { entry, .. }) = cluster.ask(0, request) else {
            panic!("not made")
        };
        if named {
            let put = Step::PutEntry {
                at: spot(ROOT, "named"),
                entry,
                replaces: None,
            };
            let steps = vec![Step::AddLink(entry.id), put];
            cluster.ask(0, Request::Execute(steps)).unwrap();
        }
        cluster.ask(0, Request::Close(entry.id)).unwrap();
        assert_eq!(cluster.stores[0].space_of_files(), 1 + u64::from(named));
    }
}

#[test]
fn an_unlinked_open_file_is_not_given_a_name_again() {
    let mut cluster = Cluster::one();
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.ask(0, Request::Open(file)).unwrap();
    cluster
        .ask(
            0,
            Request::Unlink {
                at: spot(ROOT, "a"),
                file: None,
            },
        )
        .unwrap();
    let refused = cluster.ask(0, Request::Execute(vec![Step::AddLink(file)]));
    assert_eq!(refused, Err(Failure::Errno(Errno::ENOENT)));
}

#[test]
fn a_full_server_refuses_to_grow_but_lets_go() {
    let mut cluster = Cluster::with_limit(1, Config::default(), 64 << 10);
    let mut made = 0;
    let full = loop {
        match cluster
            .ask_with(0, create(spot(ROOT, &format!("f{made}"))), &[1; 4096])
            .0
        {
            Ok(_) => made += 1,
            Err(failure) => break failure,
        }
    };
    assert_eq!(full, Failure::Errno(Errno::ENOSPC));
    assert_eq!(cluster.attributes(0, ROOT).attributes.size, made);
    for n in 0..made {
        cluster
            .ask(
                0,
                Request::Unlink {
                    at: spot(ROOT, &format!("f{n}")),
                    file: None,
                },
            )
            .unwrap();
    }
    cluster.ask(0, Request::EndSession).unwrap();
    assert_eq!(cluster.stores[0].space_of_files(), 1);
}

trait Files {
    fn space_of_files(&self) -> u64;
}

impl Files for futago_store::MemoryStore {
    fn space_of_files(&self) -> u64 {
        View::space(self).files
    }
}

/// The first message to server 1 is lost. Others follow within the resend time and do not restart
/// it.
#[test]
fn a_lost_message_is_resent_while_others_follow_it() {
    let mut cluster = Cluster::new(2, Config::default());
    let write = |id| Request::Write {
        id,
        offset: 0,
        end: u64::from(CHUNK_BYTES) + 1,
        covered_from: 0,
        kill_privileges: false,
        written: None,
        heard: None,
    };
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let lost = cluster.next_id();
    let outputs = cluster.request(0, lost, write(file));
    assert_eq!(peers(&outputs).len(), 1, "server 1 is seen of the file");
    let mut answers = Vec::new();
    for round in 0..10 {
        cluster.now = cluster.now + Duration::from_millis(100);
        let other = cluster.create(0, spot(ROOT, &format!("b{round}")));
        let follower = cluster.next_id();
        let outputs = cluster.request(0, follower, write(other.attributes.id));
        answers.extend(cluster.settle(0, outputs));
        let outputs = cluster.input(0, Input::Tick);
        answers.extend(cluster.settle(0, outputs));
    }
    assert!(answers.iter().any(|(request, _)| *request == lost));
}

#[test]
#[should_panic(expected = "a stored message is as it was encoded")]
fn a_server_does_not_continue_without_a_message_that_it_owes() {
    let mut cluster = Cluster::new(2, Config::default());
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let id = cluster.next_id();
    cluster.request(0, id, cluster::write(file, 0, u64::from(CHUNK_BYTES) + 1));
    let owed = Key::Outbox(ServerId(1), 1);
    assert!(cluster.stores[0].get(&owed).is_some());
    let damaged = StoredMessage {
        body: Bytes::from_static(&[u8::MAX]),
        payload: Payload::empty(),
    };
    let batch = Batch {
        records: vec![(owed, Some(damaged.into()))],
        ..Batch::default()
    };
    cluster.stores[0].apply(batch);
    cluster.now = cluster.now + cluster.servers[0].config().resend;
    cluster.input(0, Input::Tick);
}
