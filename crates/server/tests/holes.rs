//! The amount of data in a file with holes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;

use cluster::{CHUNK_BYTES, Cluster, ROOT, spot, write};
use futago_base::{ChunkId, FileId, record::Truncations};
use futago_server::Config;
use futago_wire::{AttributeChange, Reply, Request};

const CHUNK: u64 = CHUNK_BYTES as u64;

fn resize(id: FileId, size: u64) -> Request {
    let change = AttributeChange {
        size: Some(size),
        ..AttributeChange::default()
    };
    Request::SetAttributes { id, change }
}

fn punch(id: FileId, from: u64, to: u64) -> Request {
    Request::Punch {
        id,
        from,
        to,
        grow_to: 0,
    }
}

fn allocated(cluster: &mut Cluster, id: FileId) -> Option<u64> {
    cluster.attributes(0, id).attributes.allocated_bytes
}

/// A file of one server.
fn file(cluster: &mut Cluster) -> FileId {
    cluster.create(0, spot(ROOT, "a")).attributes.id
}

#[test]
fn all_of_a_file_that_is_written_from_its_start_is_data() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = file(&mut cluster);
    assert_eq!(allocated(&mut cluster, id), Some(0));
    cluster.ask_with(0, write(id, 0, 5), b"first").0.unwrap();
    cluster.run(0, write(id, 5, 3 * CHUNK)).unwrap();
    assert_eq!(
        allocated(&mut cluster, id),
        Some(3 * CHUNK),
        "nobody has to be asked"
    );
}

#[test]
fn skipped_or_punched_ranges_are_no_data() {
    let mut cluster = Cluster::one();
    let id = file(&mut cluster);
    cluster.ask_with(0, write(id, 90, 96), b"beyond").0.unwrap();
    assert_eq!(allocated(&mut cluster, id), Some(6));
    cluster.run(0, punch(id, 91, 93)).unwrap();
    assert_eq!(allocated(&mut cluster, id), Some(4));
    cluster.ask_with(0, write(id, 0, 3), b"abc").0.unwrap();
    assert_eq!(allocated(&mut cluster, id), Some(7));
}

#[test]
fn a_file_that_is_made_longer_has_a_hole_until_it_is_emptied() {
    let mut cluster = Cluster::one();
    let id = file(&mut cluster);
    cluster.ask_with(0, write(id, 0, 3), b"abc").0.unwrap();
    cluster.run(0, resize(id, 1000)).unwrap();
    assert_eq!(allocated(&mut cluster, id), Some(3));
    cluster.run(0, resize(id, 0)).unwrap();
    cluster.ask_with(0, write(id, 0, 2), b"ab").0.unwrap();
    assert_eq!(allocated(&mut cluster, id), Some(2));
}

/// A file with a hole before four bytes in its second chunk, which is on server 1.
fn with_hole(cluster: &mut Cluster) -> FileId {
    let id = file(cluster);
    cluster.run(0, write(id, CHUNK, CHUNK + 4)).unwrap();
    let request = Request::WriteChunk {
        chunk: ChunkId { file: id, index: 1 },
        offset: 0,
        chunk_bytes: CHUNK_BYTES,
        truncations: Truncations::default(),
    };
    cluster.ask_with(1, request, b"data").0.unwrap();
    id
}

fn sum(cluster: &mut Cluster, file: FileId, size: u64, truncations: &Truncations) -> u64 {
    let request = Request::SumData {
        file,
        size,
        chunk_bytes: CHUNK_BYTES,
        truncations: truncations.clone(),
    };
    match cluster.ask(1, request) {
        Ok(Reply::Number(bytes)) => bytes,
        other => panic!("no number: {other:?}"),
    }
}

#[test]
fn the_servers_of_chunks_know_how_much_data_they_have() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = with_hole(&mut cluster);
    assert_eq!(allocated(&mut cluster, id), None, "the home cannot know");
    let known = Truncations::default();
    assert_eq!(sum(&mut cluster, id, CHUNK + 4, &known), 4);
    assert_eq!(sum(&mut cluster, id, CHUNK + 3, &known), 3);
}

#[test]
fn data_that_was_cut_is_no_data_even_before_the_cut_arrives() {
    let mut cluster = Cluster::new(2, Config::default());
    let id = with_hole(&mut cluster);
    let request = cluster.next_id();
    let outputs = cluster.request(0, request, resize(id, CHUNK + 1));
    let read = Request::Read {
        id,
        offset: 0,
        length: 0,
    };
    let Ok(Reply::Extent { truncations, .. }) = cluster.ask(0, read) else {
        panic!("no extent");
    };
    assert_eq!(sum(&mut cluster, id, CHUNK + 4, &truncations), 1);
    cluster.settle(0, outputs);
    let old = Truncations::default();
    assert_eq!(sum(&mut cluster, id, CHUNK + 4, &old), 1);
}
