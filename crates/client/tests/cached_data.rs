//! Reads from the cache, and reads that ask the servers.

mod script;

use bytes::Bytes;
use futago_base::{Duration, Errno, FileId, Kind, Payload, Time, Timestamp, record::Truncations};
use futago_client::Config;
use futago_wire::{AttributeChange, FileState, Reply, Request};
use script::{Exchange, beside, exchange, node, run};
use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

const FILE: FileId = FileId(5);
const CHUNK: u32 = 1 << 24;
const BLOCK: usize = Config::DATA_BLOCK_BYTES as usize;

fn config() -> Config {
    Config {
        lease_trust: Some(Duration::from_secs(10)),
        data_bytes_max: 100 * u64::from(Config::DATA_BLOCK_BYTES),
        ..Config::default()
    }
}

/// A leased file whose lease covers its data, or not.
fn leased(size: u64, data_leased: bool) -> FileState {
    FileState {
        leased: true,
        data_leased,
        ..node(FILE, Kind::File, size, CHUNK)
    }
}

fn open(state: FileState) -> Exchange {
    exchange(0, Request::Open(FILE), Ok(Reply::Opened(state)))
}

fn extent(size: u64, state: Option<FileState>) -> Reply {
    Reply::Extent {
        offset: 0,
        stored: 0,
        size,
        chunk_bytes: CHUNK,
        writable: 0,
        reach: u64::MAX,
        truncations: Truncations::default(),
        state: state.map(Box::new),
    }
}

fn read(offset: u64, length: usize, size: u64, answer: &Payload) -> Exchange {
    let request = Request::Read {
        id: FILE,
        offset,
        length: length as u32,
    };
    Exchange {
        answer: answer.clone(),
        ..exchange(0, request, Ok(extent(size, None)))
    }
}

fn write(offset: u64, data: Payload, after: FileState) -> Exchange {
    let request = Request::Write {
        id: FILE,
        offset,
        end: offset + data.len() as u64,
        covered_from: offset,
        kill_privileges: false,
        written: None,
        heard: None,
    };
    let reply = extent(after.attributes.size, Some(after));
    Exchange {
        data,
        ..exchange(0, request, Ok(reply))
    }
}

fn bytes(length: usize) -> Payload {
    let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
    Payload::from(Bytes::from(bytes))
}

#[test]
fn cached_data_is_read_again_without_a_request() {
    let data = bytes(100);
    let exchanges = vec![open(leased(100, true)), read(0, BLOCK, 100, &data)];
    let pieces = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let first = client.read(FILE, 10, 20).await?;
        let second = client.read(FILE, 5, 1000).await?;
        let beyond = client.read(FILE, 100, 1).await?;
        Ok::<_, Errno>([first, second, beyond])
    });
    let expected = [data.slice(10, 30), data.slice(5, 100), Payload::empty()];
    assert_eq!(pieces, Ok(expected));
}

#[test]
fn a_sequential_reader_reads_ahead() {
    let size = 40 * BLOCK;
    let data = bytes(size);
    let blocks = |from: usize, to: usize| {
        let piece = data.slice(from * BLOCK, to * BLOCK);
        read((from * BLOCK) as u64, piece.len(), size as u64, &piece)
    };
    let exchanges = vec![
        open(leased(size as u64, true)),
        blocks(0, 1),
        blocks(1, 5),
        blocks(5, 21),
        blocks(21, 37),
    ];
    let end = 37 * BLOCK;
    let whole = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let mut whole = Vec::new();
        for at in (0..end).step_by(4096) {
            let piece = client.read(FILE, at as u64, 4096).await?;
            whole.extend_from_slice(&piece.bytes());
        }
        Ok::<_, Errno>(whole)
    });
    assert_eq!(whole.expect("it is read"), data.slice(0, end).bytes());
}

/// Whole blocks would be evicted before they are read again.
#[test]
fn random_reads_of_a_file_larger_than_the_cache_read_no_whole_blocks() {
    let size = 200 * BLOCK;
    let data = bytes(size);
    let piece = |offset: usize, length: usize| {
        let data = data.slice(offset, offset + length);
        read(offset as u64, length, size as u64, &data)
    };
    let at = |block: usize, within: usize| block * BLOCK + within;
    let exchanges = vec![
        open(leased(size as u64, true)),
        piece(at(5, 10), 20),
        piece(at(5, 10), 20),
        piece(at(7, 0), 20),
        piece(at(7, 0), BLOCK),
        piece(at(7, 0), 5 * BLOCK),
    ];
    let places = [
        at(5, 10),
        at(5, 10),
        at(7, 0),
        at(7, 20),
        at(7, 500),
        at(8, 0) - 10,
        at(9, 500),
    ];
    let pieces = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let mut pieces = Vec::new();
        for place in places {
            pieces.push(client.read(FILE, place as u64, 20).await?);
        }
        Ok::<_, Errno>(pieces)
    });
    let expected = places.map(|place| data.slice(place, place + 20));
    assert_eq!(pieces, Ok(Vec::from(expected)));
}

#[test]
fn cached_blocks_are_not_read_ahead() {
    let size = 8 * BLOCK;
    let data = bytes(size);
    let blocks = |from: usize, count: usize| {
        let piece = data.slice(from * BLOCK, (from + count) * BLOCK);
        read((from * BLOCK) as u64, count * BLOCK, size as u64, &piece)
    };
    let exchanges = vec![
        open(leased(size as u64, true)),
        blocks(5, 1),
        blocks(0, 1),
        blocks(1, 4),
    ];
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        for block in [5, 0, 1] {
            client.read(FILE, (block * BLOCK) as u64, 10).await?;
        }
        client.read(FILE, 0, 6 * BLOCK as u32).await
    });
    assert_eq!(seen, Ok(data.slice(0, 6 * BLOCK)));
}

#[test]
fn data_that_the_client_has_changed_is_requested_again() {
    let written = write(0, bytes(1), leased(100, true));
    let (old, new) = (bytes(100), Payload::from(Bytes::from_static(&[7; 100])));
    let exchanges = vec![
        open(leased(100, true)),
        read(0, BLOCK, 100, &old),
        written,
        read(0, BLOCK, 100, &new),
    ];
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.read(FILE, 0, 100).await?;
        client.write(FILE, 0, bytes(1), false).await?;
        client.read(FILE, 0, 100).await
    });
    assert_eq!(seen, Ok(new));
}

/// Servers of chunks do not know of leases. So a client that reads often has changes announced to
/// the home first.
#[test]
fn a_lease_that_covers_the_data_is_asked_for_when_it_is_read_again() {
    let exchanges = vec![
        open(leased(100, false)),
        read(0, 100, 100, &bytes(100)),
        exchange(0, Request::AnnounceChanges(FILE), Ok(Reply::Done)),
        exchange(
            0,
            Request::GetAttributes(vec![FILE]),
            Ok(Reply::Files(vec![Ok(leased(100, true))])),
        ),
        read(0, BLOCK, 100, &bytes(100)),
    ];
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        for _ in 0..3 {
            client.read(FILE, 0, 100).await?;
        }
        client.read(FILE, 0, 100).await
    });
    assert_eq!(seen, Ok(bytes(100)));
}

#[test]
fn a_small_file_is_read_from_what_was_written_to_it() {
    let piece = Payload::from(Bytes::from_static(&[7; 40]));
    let file = |size| leased(size, true);
    let mode = AttributeChange {
        mode: Some(0o600),
        ..AttributeChange::default()
    };
    let chmod = Request::SetAttributes {
        id: FILE,
        change: mode,
    };
    let exchanges = vec![
        open(file(0)),
        write(0, bytes(100), file(100)),
        write(50, piece.clone(), file(100)),
        exchange(0, chmod, Ok(Reply::File(file(100)))),
        write(110, piece.clone(), file(150)),
    ];
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.write(FILE, 0, bytes(100), false).await?;
        let first = client.read(FILE, 0, 1000).await?;
        client.write(FILE, 50, piece.clone(), false).await?;
        client.set_attributes(FILE, mode).await?;
        let second = client.read(FILE, 0, 1000).await?;
        client.write(FILE, 110, piece, false).await?;
        let third = client.read(FILE, 0, 1000).await?;
        Ok::<_, Errno>([first, second, third].map(|data| data.bytes().to_vec()))
    });
    let first: Vec<u8> = (0..100).collect();
    let second = [&first[..50], &[7; 40], &first[90..]].concat();
    let third = [&second[..], &[0; 10], &[7; 40]].concat();
    assert_eq!(seen, Ok([first, second, third]));
}

#[test]
fn a_write_leaves_the_other_blocks_of_a_file_as_they_are() {
    let size = 2 * BLOCK;
    let exchanges = vec![
        open(leased(size as u64, true)),
        read(0, size, size as u64, &bytes(size)),
        write(0, bytes(1), leased(size as u64, true)),
    ];
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.read(FILE, 0, 2 * BLOCK as u32).await?;
        client.write(FILE, 0, bytes(1), false).await?;
        client.read(FILE, BLOCK as u64, BLOCK as u32).await
    });
    assert_eq!(seen, Ok(bytes(size).slice(BLOCK, size)));
}

#[test]
fn a_write_beyond_the_reported_size_is_not_cached() {
    let exchanges = vec![
        open(leased(100, true)),
        write(BLOCK as u64, bytes(1), leased(100, true)),
        read(0, BLOCK, 100, &bytes(100)),
    ];
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.write(FILE, BLOCK as u64, bytes(1), false).await?;
        client.read(FILE, 0, 1000).await
    });
    assert_eq!(seen, Ok(bytes(100)));
}

/// A write from the write-back buffer. Its reply arrives later than those of parallel writes.
fn sent(offset: u64, data: Payload, size: usize, nanos: u32) -> Exchange {
    let mut after = exclusive(size);
    after.attributes.changed.nanos = nanos;
    let mut exchange = write(offset, data, after);
    if let Request::Write { written, .. } = &mut exchange.request {
        // The time at which scripts run.
        *written = Some(Timestamp::from(Time(1000)));
    }
    let polls = 1;
    Exchange { polls, ..exchange }
}

fn exclusive(size: usize) -> FileState {
    FileState {
        exclusive: true,
        ..leased(size as u64, true)
    }
}

fn take_exclusive(size: usize) -> Exchange {
    let reply = Reply::File(exclusive(size));
    exchange(0, Request::TakeExclusive(FILE), Ok(reply))
}

/// A client that buffers small writes from the first one on.
fn writing_back() -> Config {
    Config {
        dirty_bytes_max: 1 << 20,
        exclusive_after: 1,
        ..config()
    }
}

/// Polls a waiting operation once, and then to completion.
async fn begin_and_end<T>(operation: impl Future<Output = T>) -> T {
    let mut operation = pin!(operation);
    let begun = poll_fn(|task| Poll::Ready(operation.as_mut().poll(task))).await;
    assert!(begun.is_pending());
    operation.await
}

#[test]
fn data_sent_in_parallel_is_read_from_the_cache() {
    let part = BLOCK / 4;
    let filled = |byte: u8| Payload::from(Bytes::from(vec![byte; part]));
    let parts =
        |bytes: [u8; 4]| Payload::from(Bytes::from(bytes.map(|byte| vec![byte; part]).concat()));
    let exchanges = vec![
        open(leased(BLOCK as u64, true)),
        take_exclusive(BLOCK),
        sent(0, filled(1), BLOCK, 1),
        read(0, BLOCK, BLOCK as u64, &parts([1, 0, 0, 0])),
        beside(2 * part as u64, sent(0, filled(2), BLOCK, 2)),
        sent(2 * part as u64, filled(3), BLOCK, 3),
    ];
    let seen = run(writing_back(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.write(FILE, 0, filled(1), false).await?;
        begin_and_end(client.synchronize(FILE)).await?;
        client.read(FILE, 0, BLOCK as u32).await?;
        client.write(FILE, 0, filled(2), false).await?;
        client
            .write(FILE, 2 * part as u64, filled(3), false)
            .await?;
        begin_and_end(client.synchronize(FILE)).await?;
        client.read(FILE, 0, BLOCK as u32).await
    });
    assert_eq!(seen, Ok::<_, Errno>(parts([2, 0, 3, 0])));
}

/// Copying the first piece into a block costs more than it saves.
#[test]
fn a_small_piece_of_data_sent_in_parallel_is_not_lost() {
    let small = Payload::from(Bytes::from(vec![1; 70]));
    let large = Payload::from(Bytes::from(vec![2; 124]));
    let both = Payload::gather(320, &[(7, small.clone()), (196, large.clone())]);
    let exchanges = vec![
        open(leased(0, true)),
        take_exclusive(0),
        beside(196, sent(7, small.clone(), 77, 1)),
        sent(196, large.clone(), 320, 2),
        read(0, BLOCK, 320, &both),
    ];
    let seen = run(writing_back(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.write(FILE, 7, small, false).await?;
        client.write(FILE, 196, large, false).await?;
        begin_and_end(client.synchronize(FILE)).await?;
        client.read(FILE, 0, 320).await
    });
    assert_eq!(seen, Ok::<_, Errno>(both));
}
