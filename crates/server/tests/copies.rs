//! The clients that a reader of a file is to ask.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, ROOT, create, spot};
use futago_base::{Errno, FileId, Key, Payload, RequestId, SessionId, View, record::Door};
use futago_server::{Config, Input, Output};
use futago_wire::{CopySource, Failure, Holder, Lease, Outcome, Reply, Request};

const FIRST: SessionId = SessionId(1);
const SECOND: SessionId = SessionId(2);
const THIRD: SessionId = SessionId(3);

/// A server with a file of one chunk, of which leases cover the data.
struct Room {
    cluster: Cluster,
    file: FileId,
}

impl Room {
    fn new() -> Self {
        let mut room = Self {
            cluster: Cluster::new(1, Config::default()),
            file: ROOT,
        };
        let Ok(Reply::Found { entry, .. }) = room.ask(FIRST, create(spot(ROOT, "a"))) else {
            panic!("not made");
        };
        room.file = entry.id;
        room
    }

    fn ask(&mut self, session: SessionId, request: Request) -> Outcome {
        let sequence = self.cluster.next_id().sequence;
        let input = Input::Request {
            id: RequestId { session, sequence },
            acknowledged: 0,
            request,
            payload: Payload::empty(),
            leases: true,
            introduces: true,
        };
        let outputs = self.cluster.input(0, input);
        let outcome = outputs.into_iter().find_map(|output| match output {
            Output::Reply { outcome, .. } => Some(outcome),
            _ => None,
        });
        outcome.expect("a reply")
    }

    /// Clients take leases on the file.
    fn lease_each(&mut self, sessions: &[SessionId]) {
        for &session in sessions {
            let taken = self.ask(session, Request::GetAttributes(vec![self.file]));
            let Ok(Reply::Files(states)) = taken else {
                panic!("no state");
            };
            assert!(matches!(states[..], [Ok(state)] if state.leased && state.data_leased));
        }
    }

    /// The number of pieces of the file that the server knows holders of.
    fn known_pieces(&self) -> usize {
        let (from, to) = Key::copies(self.file);
        self.cluster.stores[0].range(from, to).count()
    }

    fn find(&mut self, session: SessionId, pieces: u32, failed: &[SessionId]) -> Outcome {
        let request = Request::FindCopies {
            id: self.file,
            first: 0,
            pieces,
            door: door(session),
            failed: failed.to_vec(),
        };
        self.ask(session, request)
    }
}

/// Every client is on a host of its own.
fn door(session: SessionId) -> Door {
    Door {
        host: session.0,
        address: Bytes::from_static(b"tcp:host:1"),
    }
}

/// Each of `pieces` is to be read from a client, or from the servers.
fn copies(holder: Option<(SessionId, u8)>, pieces: usize) -> Outcome {
    let holders = holder.map(|(session, _)| Holder {
        session,
        door: door(session),
    });
    let source = holder.map(|(_, depth)| CopySource { holder: 0, depth });
    Ok(Reply::Copies {
        holders: holders.into_iter().collect(),
        sources: vec![source; pieces],
    })
}

#[test]
fn each_reader_is_sent_to_the_one_before_it() {
    let mut room = Room::new();
    room.lease_each(&[FIRST, SECOND, THIRD]);
    assert_eq!(room.find(FIRST, 2, &[]), copies(None, 2));
    assert_eq!(room.find(SECOND, 2, &[]), copies(Some((FIRST, 1)), 2));
    assert_eq!(room.find(THIRD, 2, &[]), copies(Some((SECOND, 2)), 2));
}

#[test]
fn a_client_without_a_lease_gets_no_plan_and_is_nobodys_source() {
    let mut room = Room::new();
    let none = Ok(Reply::Copies {
        holders: Vec::new(),
        sources: Vec::new(),
    });
    assert_eq!(room.find(SECOND, 2, &[]), none);
    room.lease_each(&[FIRST, SECOND]);
    assert_eq!(room.find(FIRST, 1, &[]), copies(None, 1));
    let node = room.file;
    let number = u64::MAX;
    let returned = room.ask(FIRST, Request::GiveBack(vec![Lease { node, number }]));
    assert_eq!(returned, Ok(Reply::Done));
    assert_eq!(room.find(SECOND, 1, &[]), copies(None, 1));
}

#[test]
fn a_client_that_has_failed_or_left_is_not_named() {
    let mut room = Room::new();
    room.lease_each(&[FIRST, SECOND, THIRD]);
    room.find(FIRST, 1, &[]).expect("copies");
    room.find(SECOND, 1, &[]).expect("copies");
    assert_eq!(room.find(THIRD, 1, &[SECOND]), copies(Some((FIRST, 1)), 1));
    room.ask(FIRST, Request::EndSession).expect("the end");
    assert_eq!(room.find(SECOND, 1, &[THIRD]), copies(None, 1));
}

#[test]
fn a_client_that_has_no_longer_got_a_piece_is_not_named_for_it() {
    let mut room = Room::new();
    room.lease_each(&[FIRST, SECOND]);
    room.find(FIRST, 2, &[]).expect("copies");
    let request = Request::ForgetCopies {
        id: room.file,
        first: 0,
        pieces: 1,
    };
    assert_eq!(room.ask(FIRST, request), Ok(Reply::Done));
    let Ok(Reply::Copies { sources, .. }) = room.find(SECOND, 2, &[]) else {
        panic!("no plan");
    };
    assert_eq!(sources[0], None);
    assert!(sources[1].is_some());
}

#[test]
fn what_is_known_of_a_file_is_forgotten_with_its_last_lease() {
    let mut room = Room::new();
    room.lease_each(&[FIRST, SECOND]);
    room.find(FIRST, 3, &[]).expect("copies");
    room.find(SECOND, 2, &[]).expect("copies");
    room.ask(FIRST, Request::EndSession).expect("the end");
    assert_eq!(room.known_pieces(), 3);
    room.ask(SECOND, Request::EndSession).expect("the end");
    assert_eq!(room.known_pieces(), 0);
}

#[test]
fn too_many_pieces_are_refused() {
    let mut room = Room::new();
    room.lease_each(&[FIRST]);
    let refused = Err(Failure::Errno(Errno::EINVAL));
    assert_eq!(room.find(FIRST, u32::MAX, &[]), refused);
}

#[test]
fn readers_are_sent_to_a_writer_as_long_as_it_has_its_lease() {
    let mut room = Room::new();
    let id = room.file;
    let taken = room.ask(FIRST, Request::TakeExclusive(id));
    assert!(matches!(taken, Ok(Reply::File(state)) if state.exclusive));
    let door = door(FIRST);
    let ended = room.ask(FIRST, Request::EndExclusive { id, door });
    assert!(matches!(ended, Ok(Reply::File(state)) if state.data_leased && !state.exclusive));
    room.lease_each(&[SECOND, THIRD]);
    assert_eq!(room.find(SECOND, 2, &[]), copies(Some((FIRST, 1)), 2));
    assert_eq!(room.find(SECOND, 2, &[]), copies(Some((FIRST, 1)), 2));
    assert_eq!(room.find(THIRD, 1, &[FIRST]), copies(Some((SECOND, 2)), 1));
    let number = u64::MAX;
    let node = room.file;
    room.ask(FIRST, Request::GiveBack(vec![Lease { node, number }]))
        .expect("returned");
    assert_eq!(room.find(SECOND, 2, &[THIRD]), copies(None, 2));
}

#[test]
fn only_the_exclusive_holder_becomes_the_writer() {
    let mut room = Room::new();
    room.lease_each(&[SECOND]);
    let (id, door) = (room.file, door(FIRST));
    room.ask(FIRST, Request::EndExclusive { id, door })
        .expect("the state");
    assert_eq!(room.find(SECOND, 1, &[]), copies(None, 1));
}
