//! File data: sizes, truncation, holes, appends, and chunks on other servers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod appends;
#[path = "../cluster/mod.rs"]
mod cluster;

use cluster::{CHUNK_BYTES, Cluster, ROOT, peers, spot, write};
use futago_base::{
    BucketStart, ChunkId, Errno, FileId, ServerId, SessionId, Timestamp, limits,
    record::{Header, Truncations},
};
use futago_server::{Config, Input, Output};
use futago_wire::{
    AttributeChange, Failure, Outcome, Peer, PeerChange, Reply, Request,
    inspection::{Inspected, Repair},
};

fn read(id: FileId, offset: u64, length: u32) -> Request {
    Request::Read { id, offset, length }
}

/// Removes the name of the file.
fn unlink(cluster: &mut Cluster) {
    let (at, file) = (spot(ROOT, "a"), None);
    cluster.run(0, Request::Unlink { at, file }).unwrap();
}

fn truncations(outcome: Outcome) -> (u64, Truncations) {
    match outcome {
        Ok(Reply::Extent {
            size, truncations, ..
        }) => (size, truncations),
        other => panic!("no extent: {other:?}"),
    }
}

#[test]
fn unwritten_ranges_read_as_zeros_up_to_the_size() {
    let mut cluster = Cluster::one();
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.ask_with(0, write(id, 3, 5), b"xy").0.unwrap();
    let (_, payload) = cluster.ask_with(0, read(id, 0, 100), &[]);
    assert_eq!(&payload.bytes()[..], b"\0\0\0xy");
    let (_, payload) = cluster.ask_with(0, read(id, 9, 100), &[]);
    assert!(payload.is_empty());
}

#[test]
fn a_chunk_at_home_is_read_and_written_together_with_the_size() {
    let mut cluster = Cluster::one();
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let start = 2 * u64::from(CHUNK_BYTES);
    let (outcome, _) = cluster.ask_with(0, write(id, start + 1, start + 3), b"xy");
    assert_eq!(truncations(outcome).0, start + 3);
    let (_, payload) = cluster.ask_with(0, read(id, start, 100), &[]);
    assert_eq!(&payload.bytes()[..], b"\0xy");
    let across = write(id, start - 1, start + 1);
    assert_eq!(
        cluster.ask_with(0, across, b"xy").0,
        Err(Failure::Errno(Errno::EINVAL)),
        "one message carries data of one chunk"
    );
    let far = cluster.ask_with(0, read(id, u64::MAX, u32::MAX), &[]);
    assert!(far.0.is_ok() && far.1.is_empty());
    assert_eq!(
        cluster.ask_with(0, write(id, u64::MAX, start), b"x").0,
        Err(Failure::Errno(Errno::EINVAL)),
        "the size covers what is written"
    );
}

#[test]
fn a_chunk_elsewhere_is_not_read_or_written_at_home() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let start = u64::from(CHUNK_BYTES);
    assert_eq!(
        cluster.ask_with(0, write(id, start, start + 2), b"xy").0,
        Err(Failure::Errno(Errno::EINVAL))
    );
    cluster.run(0, write(id, start, start + 2)).unwrap();
    let (outcome, payload) = cluster.ask_with(0, read(id, start, 100), &[]);
    assert_eq!(truncations(outcome).0, start + 2);
    assert!(payload.is_empty());
}

/// A file of one full chunk that is open.
fn open_file(cluster: &mut Cluster) -> FileId {
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.run(0, Request::Open(id)).unwrap();
    cluster.run(0, write(id, 0, CHUNK_BYTES.into())).unwrap();
    id
}

/// The start of a granted range, and the size that other clients see.
fn given(outcome: Outcome) -> (u64, u64) {
    match outcome {
        Ok(Reply::Extent { offset, size, .. }) => (offset, size),
        other => panic!("no extent: {other:?}"),
    }
}

/// The end of a session removes the data that it has written beyond the size of its open files.
#[test]
fn only_sessions_that_have_the_file_open_may_write_ahead() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = open_file(&mut cluster);
    let end = u64::from(CHUNK_BYTES);
    let reach = end + 9;
    cluster.run(0, Request::PrepareWrite { id, reach }).unwrap();
    let mut writable = |session| {
        let mut request = cluster.next_id();
        request.session = SessionId(session);
        let seen = cluster.request(0, request, read(id, 0, 0));
        match seen.as_slice() {
            [
                Output::Reply {
                    outcome: Ok(Reply::Extent { writable, .. }),
                    ..
                },
            ] => *writable,
            other => panic!("no extent: {other:?}"),
        }
    };
    assert!(writable(7) >= reach);
    assert_eq!(writable(8), end);
}

#[test]
fn a_write_whose_chunks_may_have_been_cut_is_refused() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = open_file(&mut cluster);
    let end = u64::from(CHUNK_BYTES);
    let prepared = cluster.run(0, Request::PrepareWrite { id, reach: end + 9 });
    let (size, truncations) = truncations(prepared);
    assert_eq!(size, end, "nobody is shown it yet");
    let written = |heard| Request::Write {
        id,
        offset: end,
        end: end + 9,
        covered_from: end,
        kill_privileges: false,
        written: None,
        heard: Some(heard),
    };
    cluster.run(0, Request::CutAhead(id)).unwrap();
    let late = cluster.run(0, written(truncations.latest));
    assert_eq!(late, Err(Failure::Changed));
    let anew = cluster.run(0, written(truncations.latest + 1));
    assert_eq!(given(anew).1, end + 9);
}

/// A file of two chunks on two servers.
fn two_chunks(cluster: &mut Cluster) -> (FileId, ChunkId) {
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let chunk = ChunkId { file: id, index: 1 };
    let end = u64::from(CHUNK_BYTES) + 4;
    cluster.run(0, write(id, 0, end)).unwrap();
    cluster
        .ask_with(1, write_chunk(chunk, 0, &Truncations::default()), b"data")
        .0
        .unwrap();
    (id, chunk)
}

fn write_chunk(chunk: ChunkId, offset: u32, truncations: &Truncations) -> Request {
    let truncations = truncations.clone();
    Request::WriteChunk {
        chunk,
        offset,
        chunk_bytes: CHUNK_BYTES,
        truncations,
    }
}

fn read_chunk(chunk: ChunkId, to: u32, truncations: &Truncations) -> Request {
    let truncations = truncations.clone();
    Request::ReadChunk {
        chunk,
        from: 0,
        to,
        chunk_bytes: CHUNK_BYTES,
        truncations,
    }
}

fn truncate(id: FileId, size: u64) -> Request {
    let change = AttributeChange {
        size: Some(size),
        ..AttributeChange::default()
    };
    Request::SetAttributes { id, change }
}

#[test]
fn truncate_then_extend_never_shows_stale_bytes_even_before_the_cut_arrives() {
    let mut cluster = Cluster::new(2, Config::default());
    let (id, chunk) = two_chunks(&mut cluster);
    let request = cluster.next_id();
    let outputs = cluster.request(0, request, truncate(id, u64::from(CHUNK_BYTES) + 1));
    let [
        (
            ServerId(1),
            Peer::Deliver {
                change: PeerChange::Cut { .. },
                ..
            },
        ),
    ] = &peers(&outputs)[..]
    else {
        panic!("server 1 is not seen: {outputs:?}");
    };
    assert_eq!(outputs.len(), 1, "the caller waits until the chunk is cut");
    let (_, known) = truncations(cluster.ask(0, write(id, 0, u64::from(CHUNK_BYTES) + 4)));
    let (_, stale) = cluster.ask_with(1, read_chunk(chunk, 4, &known), &[]);
    assert_eq!(&stale.bytes()[..], b"d\0\0\0");
    let answers = cluster.settle(0, outputs);
    assert!(matches!(&answers[..], [(answered, Ok(_))] if *answered == request));
    let (_, cut) = cluster.ask_with(1, read_chunk(chunk, 4, &Truncations::default()), &[]);
    assert_eq!(&cut.bytes()[..], b"d\0\0\0");
}

#[test]
fn a_server_takes_chunks_of_a_file_only_while_it_is_admitted() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let chunk = ChunkId { file: id, index: 1 };
    let known = Truncations::default();
    let changed = Err(Failure::NotAdmitted);
    let early = cluster
        .ask_with(1, write_chunk(chunk, 0, &known), b"data")
        .0;
    assert_eq!(early, changed, "the home has not seen of the file");
    cluster.run(0, write(id, 0, 5000)).unwrap();
    let request = write_chunk(chunk, 0, &known);
    cluster.ask_with(1, request.clone(), b"data").0.unwrap();
    unlink(&mut cluster);
    let late = cluster.ask_with(1, request, b"data").0;
    assert_eq!(late, changed, "the file is gone");
    assert_eq!(cluster.stores[1].chunks().count(), 0);
}

#[test]
fn a_client_that_has_missed_a_truncation_must_ask_the_home_again() {
    let mut cluster = Cluster::new(2, Config::default());
    let (id, chunk) = two_chunks(&mut cluster);
    cluster.run(0, truncate(id, 0)).unwrap();
    let old = Truncations::default();
    let stale = cluster.ask_with(1, write_chunk(chunk, 0, &old), b"old").0;
    assert_eq!(stale, Err(Failure::Changed));
    let (_, known) = truncations(cluster.run(0, write(id, 0, 5000)));
    cluster
        .ask_with(1, write_chunk(chunk, 1, &known), b"new")
        .0
        .unwrap();
    let (_, data) = cluster.ask_with(1, read_chunk(chunk, 4, &old), &[]);
    assert_eq!(&data.bytes()[..], b"\0new");
}

/// The offset up to which chunks may be written before the home is notified.
fn writable(outcome: &Outcome) -> u64 {
    match outcome {
        Ok(Reply::Extent { writable, .. }) => *writable,
        other => panic!("no extent: {other:?}"),
    }
}

/// A file whose session has written beyond its size on server 1, and the truncations that the
/// session knows.
fn written_ahead(cluster: &mut Cluster) -> (FileId, ChunkId, Truncations) {
    let id = cluster.create(0, spot(ROOT, "a")).attributes.id;
    cluster.ask(0, Request::Open(id)).unwrap();
    let end = u64::from(CHUNK_BYTES) + 4;
    let outcome = cluster.run(0, write(id, 0, end));
    assert_eq!(
        writable(&outcome),
        2 * end,
        "an open file may be written ahead"
    );
    let (_, known) = truncations(outcome);
    let chunk = ChunkId { file: id, index: 1 };
    cluster
        .ask_with(1, write_chunk(chunk, 4, &known), b"ahead")
        .0
        .unwrap();
    (id, chunk, known)
}

#[test]
fn data_beyond_the_size_is_removed_when_the_file_is_closed() {
    let mut cluster = Cluster::new(2, Config::default());
    let (id, chunk, known) = written_ahead(&mut cluster);
    let request = cluster.next_id();
    let outputs = cluster.request(0, request, Request::Close(id));
    let (_, cut) = (peers(&outputs), cluster.settle(0, outputs));
    assert_eq!(cut.len(), 1);
    let late = cluster
        .ask_with(1, write_chunk(chunk, 4, &known), b"ahead")
        .0;
    assert_eq!(late, Err(Failure::Changed));
    assert_eq!(cluster.stores[1].chunks().count(), 0);
    assert_eq!(
        cluster.attributes(0, id).attributes.size,
        u64::from(CHUNK_BYTES) + 4
    );
}

#[test]
fn data_beyond_the_size_is_removed_with_its_session() {
    let config = Config::default();
    let lease = config.lease;
    let mut cluster = Cluster::new(2, config);
    let (_, chunk, known) = written_ahead(&mut cluster);
    cluster.now = cluster.now + lease + lease;
    let outputs = cluster.input(0, Input::Tick);
    cluster.settle(0, outputs);
    assert_eq!(cluster.stores[1].chunks().count(), 0);
    let late = write_chunk(chunk, 4, &known);
    let refused = Err(Failure::SessionExpired);
    assert_eq!(cluster.ask_with(1, late, b"ahead").0, refused);
}

#[test]
fn a_write_that_knows_of_the_truncation_survives_the_late_cut() {
    let mut cluster = Cluster::new(2, Config::default());
    let (id, chunk) = two_chunks(&mut cluster);
    let request = cluster.next_id();
    let outputs = cluster.request(0, request, truncate(id, 0));
    let (_, known) = truncations(cluster.ask(0, write(id, 0, u64::from(CHUNK_BYTES) + 4)));
    cluster
        .ask_with(1, write_chunk(chunk, 1, &known), b"new")
        .0
        .unwrap();
    cluster.settle(0, outputs);
    let (_, payload) = cluster.ask_with(1, read_chunk(chunk, 4, &known), &[]);
    assert_eq!(&payload.bytes()[..], b"\0new");
}

#[test]
fn the_last_unlink_removes_the_chunks_everywhere_before_it_returns() {
    let mut cluster = Cluster::new(2, Config::default());
    two_chunks(&mut cluster);
    unlink(&mut cluster);
    assert_eq!(cluster.stores[1].chunks().count(), 0);
    assert_eq!(cluster.stores[0].chunks().count(), 0);
}

#[test]
fn chunks_that_belong_elsewhere_or_nowhere_are_refused() {
    let mut cluster = Cluster::new(2, Config::default());
    let file = FileId::ROOT;
    let known = Truncations::default();
    for index in [0, 1, u64::MAX] {
        let request = write_chunk(ChunkId { file, index }, 0, &known);
        let server = u16::from(index == u64::MAX);
        assert!(
            cluster.ask_with(server, request, b"x").0.is_err(),
            "chunk {index}"
        );
    }
    let beyond = write_chunk(ChunkId { file, index: 1 }, CHUNK_BYTES, &known);
    assert!(cluster.ask_with(1, beyond, b"x").0.is_err());
}

/// The data that a client has cached under a lease must not change without a recall, in any chunk.
#[test]
fn announced_changes_begin_at_the_home() {
    let mut cluster = Cluster::new(2, Config::default());
    let (id, chunk, known) = written_ahead(&mut cluster);
    let asked = cluster.next_id();
    let outputs = cluster.request(0, asked, Request::AnnounceChanges(id));
    assert!(
        !outputs.iter().any(|it| matches!(it, Output::Reply { .. })),
        "the answer waits until the other server knows"
    );
    assert_eq!(cluster.settle(0, outputs), [(asked, Ok(Reply::Done))]);
    let stale = cluster.ask_with(1, write_chunk(chunk, 4, &known), b"late");
    assert_eq!(stale.0, Err(Failure::Changed));
    let seen = cluster.run(0, read(id, 0, 0));
    assert_eq!(writable(&seen), 0, "the home wants to hear of it first");
    let (_, known) = truncations(seen);
    assert!(writable(&cluster.run(0, write(id, 0, 0))) > 0);
    let fresh = cluster.ask_with(1, write_chunk(chunk, 4, &known), b"good");
    assert_eq!(fresh.0, Ok(Reply::Done));
}

/// A lease that covers the data is not worth an error, because a server of chunks may be away for
/// long.
#[test]
fn changes_are_not_announced_while_too_many_truncations_are_unconfirmed() {
    let mut cluster = Cluster::new(2, Config::default());
    let (id, ..) = written_ahead(&mut cluster);
    let grow = |cluster: &mut Cluster, by: usize| {
        let asked = cluster.next_id();
        let end = u64::from(CHUNK_BYTES) + 4 + by as u64;
        cluster.request(0, asked, write(id, 0, end));
    };
    for by in 1..=Truncations::STEPS_MAX {
        grow(&mut cluster, by);
        let asked = cluster.next_id();
        let outputs = cluster.request(0, asked, Request::AnnounceChanges(id));
        assert!(
            !outputs.iter().any(|it| matches!(it, Output::Reply { .. })),
            "the other server has not heard"
        );
    }
    grow(&mut cluster, 1 + Truncations::STEPS_MAX);
    let announced = cluster.ask(0, Request::AnnounceChanges(id));
    assert_eq!(announced, Ok(Reply::Done));
    assert!(writable(&cluster.ask(0, read(id, 0, 0))) > 0);
}

/// Raises the size of a file while it is open, and closes it, which trims the data beyond the size.
fn grow_and_close(cluster: &mut Cluster, id: FileId, end: u64) -> Truncations {
    cluster.run(0, Request::Open(id)).unwrap();
    cluster.run(0, write(id, 0, end)).unwrap();
    cluster.run(0, Request::Close(id)).unwrap();
    truncations(cluster.ask(0, read(id, 0, 0))).1
}

/// A process opens a log, appends to it and closes it repeatedly. Servers whose chunks lie before
/// the end confirm every trim, so none of them takes its data for cut.
#[test]
fn data_before_the_end_outlives_any_number_of_closes() {
    const PIECE_BYTES: u64 = 200;
    let mut cluster = Cluster::new(4, Config::default());
    let id = cluster.create(0, spot(ROOT, "log")).attributes.id;
    let (start, end) = (u64::from(CHUNK_BYTES), 2 * u64::from(CHUNK_BYTES));
    let mut size = start;
    let mut known = Truncations::default();
    while size < end {
        size += PIECE_BYTES;
        known = grow_and_close(&mut cluster, id, size);
    }
    let chunk = ChunkId { file: id, index: 1 };
    let data = [7; CHUNK_BYTES as usize];
    let written = cluster.ask_with(1, write_chunk(chunk, 0, &known), &data);
    written.0.unwrap();
    for _ in 0..2 * Truncations::STEPS_MAX {
        size += PIECE_BYTES;
        known = grow_and_close(&mut cluster, id, size);
        let (_, read) = cluster.ask_with(1, read_chunk(chunk, CHUNK_BYTES, &known), &[]);
        assert_eq!(read.bytes()[..], data, "at a size of {size}");
    }
}

#[test]
fn chunks_of_another_size_than_they_were_written_with_do_no_harm() {
    let mut cluster = Cluster::one();
    let file = cluster.create(0, spot(ROOT, "a")).attributes.id;
    let chunk = ChunkId {
        file,
        index: 1 << 50,
    };
    let write = Request::WriteChunk {
        chunk,
        offset: 0,
        chunk_bytes: CHUNK_BYTES,
        truncations: Truncations::default(),
    };
    cluster.ask_with(0, write, b"data").0.unwrap();
    let (chunk_bytes, truncations) = (limits::CHUNK_BYTES_MAX, Truncations::default());
    let punch = Request::PunchChunks {
        file,
        from: 0,
        to: u64::MAX,
        chunk_bytes,
        truncations: truncations.clone(),
    };
    let next_data = Request::NextData {
        file,
        from: 0,
        chunk_bytes,
        truncations: truncations.clone(),
    };
    let next_hole = Request::NextHole {
        file,
        from: u64::MAX,
        chunk_bytes,
        truncations,
    };
    assert_eq!(cluster.ask(0, next_data), Ok(Reply::Offset(Some(u64::MAX))));
    assert_eq!(cluster.ask(0, next_hole), Ok(Reply::Offset(Some(u64::MAX))));
    assert_eq!(cluster.ask(0, punch), Ok(Reply::Done));
    let change = AttributeChange {
        size: Some(0),
        ..AttributeChange::default()
    };
    cluster
        .run(0, Request::SetAttributes { id: file, change })
        .unwrap();
}

/// A repair puts records as they come.
#[test]
fn counts_of_a_repaired_bucket_do_no_harm() {
    let mut cluster = Cluster::one();
    let header = Header {
        level: 0,
        mode: 0o755,
        gid: 0,
        chunk_bytes: 0,
        depth: 0,
        entries: u64::MAX,
        subdirectories: u32::MAX,
        pending: 0,
        modified: Timestamp::default(),
    };
    let record = Inspected::Header {
        directory: ROOT,
        bucket: BucketStart(0),
        header,
    };
    cluster
        .ask(0, Request::Repair(Repair::Put(record)))
        .unwrap();
    let attributes = cluster.attributes(0, ROOT).attributes;
    assert_eq!((attributes.size, attributes.links), (u64::MAX, u32::MAX));
    cluster.create(0, spot(ROOT, "b"));
}
