//! Directories whose buckets are on several servers: each grants leases on its own buckets.

use super::*;
use bytes::Bytes;
use futago_base::{BucketStart, Incarnation, NameHash, XattrName, record::HeaderSum};
use futago_wire::{BucketsState, Spot};

const UPPER: BucketStart = BucketStart(1 << 62);

impl Room {
    /// A root of two buckets on two servers, with five names in all.
    fn wide() -> Self {
        let config = Config {
            split_entries: 4,
            ..Config::default()
        };
        let mut cluster = Cluster::new(2, config);
        for number in 0..5 {
            let id = cluster.next_id();
            let outputs = cluster.request(0, id, create(spot(ROOT, &format!("f{number}"))));
            cluster.settle(0, outputs);
        }
        Self { cluster }
    }

    /// Sends a request of a client that accepts leases to the second server.
    fn request_there(&mut self, session: SessionId, request: Request) -> (u64, Vec<Output>) {
        let sequence = self.cluster.next_id().sequence;
        (sequence, self.input_at(1, session, sequence, request))
    }

    /// The holder gets a lease on the upper bucket.
    fn leased_bucket(&mut self) -> (Lease, HeaderSum) {
        let (number, outputs) = self.request_there(HOLDER, Request::SumHeaders(ROOT));
        let Some(Ok(Reply::Buckets(BucketsState { sum, leased, .. }))) = answer(&outputs) else {
            panic!("no sum: {outputs:?}");
        };
        assert!(leased);
        (Lease { node: ROOT, number }, sum)
    }
}

/// A name of the upper bucket that does not exist.
fn upper(seed: &str) -> Spot {
    let texts = (0..).map(|number| format!("{seed}{number}"));
    let mut spots = texts.map(|text| spot(ROOT, &text));
    let found = spots.find(|at| at.name.hash().0 >= UPPER.0);
    Spot {
        bucket: UPPER,
        ..found.unwrap()
    }
}

#[test]
fn a_server_recalls_the_lease_on_its_own_buckets_only() {
    let mut room = Room::wide();
    let (lease, _) = room.leased_bucket();
    let lower = |text: &String| spot(ROOT, text).name.hash().0 < UPPER.0;
    let name = (0..).map(|n| format!("low{n}")).find(lower).unwrap();
    let (_, outputs) = room.request(OTHER, create(spot(ROOT, &name)));
    assert!(answer(&outputs).is_some(), "it is a name of another server");
    let (_, outputs) = room.request_there(OTHER, create(upper("high")));
    assert_eq!(outputs, [recall(lease)]);
    let number = lease.number;
    let (_, outputs) = room.request_there(HOLDER, Request::GiveBack(vec![lease]));
    assert!(
        matches!(answer(&outputs), Some(Ok(Reply::Done))),
        "{number}"
    );
    assert_eq!(outputs.len(), 2, "and the name is made: {outputs:?}");
}

#[test]
fn a_change_of_the_holder_is_answered_with_the_buckets_as_they_are_now() {
    let mut room = Room::wide();
    let (lease, before) = room.leased_bucket();
    let at = upper("high");
    let (number, outputs) = room.request_there(HOLDER, create(at.clone()));
    let Some(Ok(Reply::Found {
        entry,
        directory: Some(part),
        ..
    })) = answer(&outputs)
    else {
        panic!("not made: {outputs:?}");
    };
    let Part::Buckets(now) = *part else {
        panic!("the server is not the home: {part:?}");
    };
    assert_eq!((now.sum.entries, now.leased), (before.entries + 1, true));
    let file = Some(entry.id);
    let unlink = Request::Unlink { at, file };
    let (_, outputs) = room.request_there(HOLDER, unlink);
    let Some(Ok(Reply::Buckets(now))) = answer(&outputs) else {
        panic!("not removed: {outputs:?}");
    };
    assert_eq!((now.sum.entries, now.leased), (before.entries, true));
    assert!(number > lease.number);
}

/// Fills the first server with attributes of a file on which the holder has a lease.
fn fill(room: &mut Room, id: FileId) {
    let mut bytes = 32 << 10;
    for number in 0.. {
        let request = Request::SetXattr {
            id,
            name: XattrName::new(format!("user.{number}").into_bytes()).unwrap(),
            value: Bytes::from(vec![0; bytes]),
            create: false,
            replace: false,
        };
        match room.ask(HOLDER, request).1 {
            Ok(_) => {}
            Err(Failure::Errno(Errno::ENOSPC)) if bytes == 0 => return,
            Err(Failure::Errno(Errno::ENOSPC)) => bytes /= 2,
            other => panic!("not set: {other:?}"),
        }
    }
}

#[test]
fn a_refused_name_has_no_other_effect() {
    let config = Config {
        split_entries: 4,
        ..Config::default()
    };
    let cluster = Cluster::with_limit(2, config, 64 << 10);
    let mut room = Room { cluster };
    room.request(HOLDER, Request::Lookup(spot(ROOT, "none")));
    // The bucket of a leased directory does not split, but it will with the next name.
    let mut made = Vec::new();
    for number in 0..6 {
        let (_, outputs) = room.request(HOLDER, create(spot(ROOT, &format!("f{number}"))));
        let Some(Ok(Reply::Found { entry, .. })) = answer(&outputs) else {
            panic!("not made: {outputs:?}");
        };
        made.push(entry.id);
    }
    fill(&mut room, made[0]);
    room.give_back(HOLDER, &[ROOT]);
    let (_, outputs) = room.request(OTHER, create(spot(ROOT, "one more")));
    assert_eq!(answer(&outputs), Some(Err(Errno::ENOSPC.into())));
    assert_eq!(outputs.len(), 1, "{outputs:?}");
}

#[test]
fn a_bucket_that_moves_to_a_server_waits_for_leases_there() {
    let mut room = Room::wide();
    let (lease, _) = room.leased_bucket();
    let message = Peer::Deliver {
        sender: ServerId(0),
        from: Incarnation(0),
        to: None,
        number: u64::MAX,
        change: PeerChange::DropLink {
            file: FileId(1),
            by: None,
        },
    };
    // A message that does not follow the last one tells how far the channel is.
    let outputs = room.cluster.input(1, Input::Peer(message));
    let [
        Output::PeerAnswer {
            answer: PeerAnswer::Delivered { number, .. },
            ..
        },
    ] = outputs[..]
    else {
        panic!("{outputs:?}");
    };
    let moves = Peer::Deliver {
        sender: ServerId(0),
        from: Incarnation(0),
        to: None,
        number: number + 1,
        change: PeerChange::Transfer {
            directory: ROOT,
            bucket: BucketStart(1 << 61),
            entries: Vec::new(),
            header: None,
        },
    };
    assert_eq!(room.cluster.input(1, Input::Peer(moves)), [recall(lease)]);
}

#[test]
fn a_listing_brings_the_lease_on_its_part() {
    let mut room = Room::wide();
    let mut list = || {
        let request = Request::ReadDirectory {
            directory: ROOT,
            bucket: UPPER,
            after: NameHash(UPPER.0 - 1),
            entries_max: 10,
        };
        let (_, outputs) = room.request_there(HOLDER, request);
        match answer(&outputs) {
            Some(Ok(Reply::Listing { directory, .. })) => directory,
            other => panic!("no listing: {other:?}"),
        }
    };
    let first = list();
    let is_leased = |part: Part| matches!(part, Part::Buckets(buckets) if buckets.leased);
    assert!(first.is_some_and(|part| is_leased(*part)));
    assert_eq!(list(), None);
}
