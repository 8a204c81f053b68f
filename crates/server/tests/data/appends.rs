//! Appends: the ranges that they are granted, and the size when they are written.

use super::*;

#[test]
fn an_append_gets_the_end_of_the_file() {
    let mut cluster = Cluster::one();
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    for expected in [0, 3] {
        let request = Request::Append {
            id,
            length: 3,
            kill_privileges: false,
        };
        let (outcome, _) = cluster.ask_with(0, request, b"abc");
        assert!(
            matches!(outcome, Ok(Reply::Extent { offset, stored: 3, .. }) if offset == expected)
        );
    }
    assert_eq!(
        &cluster.ask_with(0, read(id, 0, 9), &[]).1.bytes()[..],
        b"abcabc"
    );
}

/// An append of `length` bytes.
fn append(id: FileId, length: u32) -> Request {
    Request::Append {
        id,
        length,
        kill_privileges: false,
    }
}

fn finish(id: FileId, from: u64, to: u64) -> Request {
    Request::FinishAppend {
        id,
        from,
        to,
        kill_privileges: false,
        heard: 0,
    }
}

#[test]
fn the_size_covers_appends_in_order_when_they_are_written() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = open_file(&mut cluster);
    let end = u64::from(CHUNK_BYTES);
    let first = cluster.run(0, append(id, 10));
    let second = cluster.run(0, append(id, 20));
    assert_eq!([given(first), given(second)], [(end, end), (end + 10, end)]);
    let later = finish(id, end + 10, end + 30);
    let waiting = [later, write(id, 0, end + 31)].map(|request| {
        let id = cluster.next_id();
        let outputs = cluster.request(0, id, request);
        assert!(outputs.is_empty(), "zeros would show before it");
        id
    });
    let id_of_first = cluster.next_id();
    let outputs = cluster.request(0, id_of_first, finish(id, end, end + 10));
    let answers = cluster.settle(0, outputs);
    let sizes = answers
        .into_iter()
        .map(|(id, outcome)| (id, given(outcome).1));
    let expected = [(id_of_first, 10), (waiting[0], 30), (waiting[1], 31)];
    let expected = expected.map(|(id, more)| (id, end + more));
    assert_eq!(sizes.collect::<Vec<_>>(), expected);
    let again = cluster.run(0, finish(id, end + 10, end + 30));
    assert_eq!(again, Err(Failure::Changed), "it was finished");
}

#[test]
fn a_hole_beyond_the_size_spares_an_append_under_way() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.run(0, Request::Open(id)).unwrap();
    let (data, length) = (vec![7; CHUNK_BYTES as usize], CHUNK_BYTES + 10);
    let next = cluster.next_id();
    let outputs = cluster.request_with(0, next, append(id, length), &data);
    let answers = cluster.settle(0, outputs);
    let granted = answers.into_iter().map(|(_, outcome)| given(outcome));
    assert_eq!(granted.collect::<Vec<_>>(), [(0, 0)]);
    let hole = Request::Punch {
        id,
        from: 3,
        to: 9,
        grow_to: 0,
    };
    cluster.run(0, hole).unwrap();
    cluster.run(0, finish(id, 0, length.into())).unwrap();
    let (_, found) = cluster.ask_with(0, read(id, 0, CHUNK_BYTES), &[]);
    assert_eq!(found.bytes()[..], data[..]);
}

#[test]
fn an_append_waits_at_most_one_grace_time() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = open_file(&mut cluster);
    let end = u64::from(CHUNK_BYTES);
    for length in [10, 20] {
        cluster.run(0, append(id, length)).unwrap();
    }
    let second = cluster.next_id();
    let waits = cluster.request(0, second, finish(id, end + 10, end + 30));
    assert!(waits.is_empty());
    cluster.now = cluster.now + Config::default().grace;
    let outputs = cluster.input(0, Input::Tick);
    let answers = cluster.settle(0, outputs);
    let [(answered, outcome)] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!((*answered, given(outcome.clone()).1), (second, end + 30));
    let first = cluster.run(0, finish(id, end, end + 10));
    assert_eq!(given(first).1, end + 30, "it was late, and is there now");
}

#[test]
fn a_truncation_drops_append_ranges() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = open_file(&mut cluster);
    let end = u64::from(CHUNK_BYTES);
    cluster.run(0, append(id, 10)).unwrap();
    cluster.run(0, Request::CutAhead(id)).unwrap();
    let finished = cluster.run(0, finish(id, end, end + 10));
    assert_eq!(finished, Err(Failure::Changed));
    assert_eq!(given(cluster.run(0, append(id, 10))), (end, end));
}

#[test]
fn a_client_without_the_file_open_appends_at_once() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let end = u64::from(CHUNK_BYTES);
    cluster.run(0, write(id, 0, end)).unwrap();
    assert_eq!(given(cluster.run(0, append(id, 10))), (end, end + 10));
    let prepared = cluster.run(
        0,
        Request::PrepareWrite {
            id,
            reach: end + 99,
        },
    );
    let Ok(Reply::Extent { writable, .. }) = prepared else {
        panic!("{prepared:?}");
    };
    assert_eq!(writable, end + 10);
}

#[test]
fn an_append_brings_what_belongs_at_the_home() {
    let mut cluster = Cluster::one();
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let request = Request::Append {
        id,
        length: 3,
        kill_privileges: false,
    };
    let without = cluster.ask_with(0, request, b"ab").0;
    assert_eq!(without, Err(Failure::Changed));
    assert_eq!(cluster.attributes(0, id).attributes.size, 0);
}
