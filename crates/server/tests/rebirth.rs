//! Servers that lose their stores and begin a new incarnation.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{CHUNK_BYTES, Cluster, ROOT, create, peer_answers, spot};
use futago_base::{
    BucketStart, ChunkId, FileId, Incarnation, Key, NameHash, ServerId, Value, View,
    record::Truncations,
};
use futago_server::{Config, Input, Output};
use futago_wire::{AttributeChange, Failure, Peer, PeerAnswer, PeerChange, Reply, Request};

/// An incarnation that is not the first.
const NEXT_INCARNATION: u64 = 5;
const END: u64 = CHUNK_BYTES as u64 + 4;

fn write(id: FileId, end: u64) -> Request {
    Request::Write {
        id,
        offset: 0,
        end,
        covered_from: 0,
        kill_privileges: false,
        written: None,
        heard: None,
    }
}

/// The chunk of a file that is on server 1.
const fn chunk(file: FileId) -> ChunkId {
    ChunkId { file, index: 1 }
}

fn write_chunk(file: FileId, truncations: Truncations) -> Request {
    Request::WriteChunk {
        chunk: chunk(file),
        offset: 0,
        chunk_bytes: CHUNK_BYTES,
        truncations,
    }
}

fn read_chunk(file: FileId) -> Request {
    Request::ReadChunk {
        chunk: chunk(file),
        from: 0,
        to: 4,
        chunk_bytes: CHUNK_BYTES,
        truncations: Truncations::default(),
    }
}

fn next_data(file: FileId) -> Request {
    Request::NextData {
        file,
        from: u64::from(CHUNK_BYTES),
        chunk_bytes: CHUNK_BYTES,
        truncations: Truncations::default(),
    }
}

/// A file with data on both servers.
fn two_chunks(cluster: &mut Cluster) -> FileId {
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.run(0, write(id, END)).unwrap();
    let written = write_chunk(id, Truncations::default());
    cluster.ask_with(1, written, b"data").0.unwrap();
    id
}

#[test]
fn a_new_incarnation_assigns_no_file_id_of_the_last_one() {
    let mut cluster = Cluster::one();
    let lost = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.restart(0, NEXT_INCARNATION);
    let made = cluster.create(0, spot(ROOT, "a")).attributes.id;
    assert_ne!(made, lost);
    assert_eq!(made.home(), lost.home());
    let gone = cluster.ask(0, Request::GetAttributes(vec![lost]));
    assert!(matches!(gone, Ok(Reply::Files(files)) if files[0].is_err()));
    assert_eq!(cluster.attributes(0, ROOT).attributes.id, ROOT);
}

#[test]
fn lost_data_is_no_hole() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = two_chunks(&mut cluster);
    cluster.restart(1, NEXT_INCARNATION);
    // Growing the file restores nothing.
    cluster.run(0, write(id, 4 * END)).unwrap();
    let late = write_chunk(id, Truncations::default());
    for (request, data) in [
        (read_chunk(id), &b""[..]),
        (next_data(id), b""),
        (late, b"more"),
    ] {
        let refused = cluster.ask_with(1, request, data).0;
        assert_eq!(refused, Err(Failure::NotAdmitted));
    }
}

#[test]
fn a_file_that_loses_data_is_whole_again_when_it_is_emptied() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = two_chunks(&mut cluster);
    cluster.restart(1, NEXT_INCARNATION);
    let change = AttributeChange {
        size: Some(0),
        ..AttributeChange::default()
    };
    cluster
        .run(0, Request::SetAttributes { id, change })
        .unwrap();
    let written = cluster.run(0, write(id, END)).unwrap();
    let Reply::Extent { truncations, .. } = written else {
        panic!("{written:?}");
    };
    let again = write_chunk(id, truncations);
    assert_eq!(cluster.ask_with(1, again, b"more").0, Ok(Reply::Done));
}

#[test]
fn messages_under_way_reach_the_next_incarnation() {
    let mut cluster = Cluster::new(2, Config::default());
    two_chunks(&mut cluster);
    let other = cluster.create(0, spot(ROOT, "b")).attributes.id;
    let request = cluster.next_id();
    // The message that admits the file is lost with the server.
    cluster.request(0, request, write(other, END));
    cluster.restart(1, NEXT_INCARNATION);
    cluster.now = cluster.now + cluster.servers[0].config().resend;
    let again = cluster.input(0, Input::Tick);
    let answers = cluster.settle(0, again);
    assert!(matches!(&answers[..], [(id, Ok(_))] if *id == request));
    let written = write_chunk(other, Truncations::default());
    assert_eq!(cluster.ask_with(1, written, b"data").0, Ok(Reply::Done));
    // Later messages are lost too.
    let third = cluster.create(0, spot(ROOT, "c")).attributes.id;
    cluster.run(0, write(third, END)).unwrap();
}

/// Makes names in the root until it has a bucket on server 1; returns how many are there.
fn split_root(cluster: &mut Cluster) -> u64 {
    for number in 0..8 {
        let request = cluster.next_id();
        let made = cluster.request(0, request, create(spot(ROOT, &format!("n{number}"))));
        cluster.settle(0, made);
    }
    let upper = cluster.stores[1].get(&Key::Header(ROOT, BucketStart(0).upper_half(0)));
    upper.and_then(Value::header).unwrap().entries
}

#[test]
fn a_bucket_of_a_directory_that_lives_on_counts_the_names_that_come_back() {
    let config = Config {
        split_entries: 7,
        ..Config::default()
    };
    let mut cluster = Cluster::new(2, config);
    let before = split_root(&mut cluster);
    cluster.restart(0, NEXT_INCARNATION);
    // One more name, so that not all received names are there already.
    cluster.create(0, spot(ROOT, "other"));
    let after = split_root(&mut cluster);
    let (first, last) = Key::entries(ROOT, NameHash(0), None);
    assert_eq!(cluster.stores[1].range(first, last).count() as u64, after);
    assert!(after >= before);
}

fn admit(from: u64, to: Option<u64>, number: u64, file: u64) -> Input {
    Input::Peer(Peer::Deliver {
        sender: ServerId(1),
        from: Incarnation(from),
        to: to.map(Incarnation),
        number,
        change: PeerChange::Admit {
            file: FileId(file),
            heard: 0,
        },
    })
}

fn delivered(from: u64, number: u64) -> PeerAnswer {
    PeerAnswer::Delivered {
        receiver: ServerId(0),
        by: Incarnation(0),
        from: Incarnation(from),
        number,
    }
}

fn answers(cluster: &mut Cluster, input: Input) -> Vec<PeerAnswer> {
    let outputs: Vec<Output> = cluster.input(0, input);
    peer_answers(&outputs)
}

#[test]
fn messages_of_a_new_incarnation_count_and_those_of_the_last_do_not() {
    let mut cluster = Cluster::new(2, Config::default());
    for number in 1..=3 {
        let seen = answers(&mut cluster, admit(0, Some(0), number, number));
        assert_eq!(seen, [delivered(0, number)]);
    }
    assert_eq!(
        answers(&mut cluster, admit(NEXT_INCARNATION, None, 1, 9)),
        [delivered(NEXT_INCARNATION, 1)]
    );
    assert_eq!(answers(&mut cluster, admit(0, Some(0), 4, 4)), []);
    assert_eq!(
        answers(&mut cluster, admit(NEXT_INCARNATION, Some(0), 2, 10)),
        [delivered(NEXT_INCARNATION, 2)]
    );
}

#[test]
fn no_earlier_incarnation_is_heard_again() {
    let mut cluster = Cluster::new(2, Config::default());
    let lives = [3, 9, 5, 7];
    for life in lives {
        let seen = answers(&mut cluster, admit(life, None, 1, life));
        assert_eq!(seen, [delivered(life, 1)]);
    }
    for gone in &lives[..3] {
        assert_eq!(answers(&mut cluster, admit(*gone, None, 1, 100)), []);
    }
    let next = answers(&mut cluster, admit(7, Some(0), 2, 101));
    assert_eq!(next, [delivered(7, 2)]);
}

#[test]
fn late_confirmations_of_any_earlier_incarnation_begin_no_channel() {
    let mut cluster = Cluster::new(2, Config::default());
    let lives = [0, NEXT_INCARNATION, NEXT_INCARNATION + 1];
    for life in lives {
        cluster.restart(1, life);
        let file = cluster.create(0, spot(ROOT, &format!("f{life}")));
        cluster.run(0, write(file.attributes.id, END)).unwrap();
    }
    let other = cluster.create(0, spot(ROOT, "other")).attributes.id;
    let request = cluster.next_id();
    let under_way = cluster.request(0, request, write(other, END));
    for gone in &lives[..2] {
        let late = PeerAnswer::Delivered {
            receiver: ServerId(1),
            by: Incarnation(*gone),
            from: Incarnation(0),
            number: 0,
        };
        assert_eq!(cluster.input(0, Input::PeerAnswer(late)), []);
    }
    let answered = cluster.settle(0, under_way);
    assert!(matches!(&answered[..], [(id, Ok(_))] if *id == request));
}

#[test]
fn messages_for_the_last_incarnation_are_dropped() {
    let mut cluster = Cluster::new(2, Config::default());
    let not_here = Some(NEXT_INCARNATION);
    assert_eq!(
        answers(&mut cluster, admit(0, not_here, 1, 9)),
        [delivered(0, 0)]
    );
    assert_eq!(
        answers(&mut cluster, admit(0, Some(0), 1, 9)),
        [delivered(0, 1)]
    );
}

#[test]
fn late_confirmations_of_the_last_incarnation_confirm_nothing() {
    let mut cluster = Cluster::new(2, Config::default());
    two_chunks(&mut cluster);
    cluster.restart(1, NEXT_INCARNATION);
    let other = cluster.create(0, spot(ROOT, "b")).attributes.id;
    cluster.run(0, write(other, END)).unwrap();
    let third = cluster.create(0, spot(ROOT, "c")).attributes.id;
    let request = cluster.next_id();
    let under_way = cluster.request(0, request, write(third, END));
    let late = PeerAnswer::Delivered {
        receiver: ServerId(1),
        by: Incarnation(0),
        from: Incarnation(0),
        number: 9,
    };
    assert_eq!(cluster.input(0, Input::PeerAnswer(late)), []);
    let answered = cluster.settle(0, under_way);
    assert!(matches!(&answered[..], [(id, Ok(_))] if *id == request));
}
