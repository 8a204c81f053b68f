//! The cached data of a file of several chunks, and the servers that a read asks.

mod script;

use bytes::Bytes;
use futago_base::{
    ChunkId, Duration, Errno, FileId, Kind, Payload, ServerId, Time, Timestamp, record::Truncations,
};
use futago_client::{Client, Config};
use futago_wire::{AttributeChange, FileState, Lease, LeaseRecall, Reply, Request};
use script::{Exchange, Script, exchange, node, run};
use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

const FILE: FileId = FileId(5);
const CHUNK: u32 = Config::DATA_BLOCK_BYTES;
/// The offset of chunk 1.
const OFFSET: u64 = CHUNK as u64;
const SIZE: u64 = 2 * OFFSET;

fn config() -> Config {
    Config {
        lease_trust: Some(Duration::from_secs(10)),
        ..Config::default()
    }
}

/// A client that caches no data.
fn asking() -> Config {
    Config {
        data_bytes_max: 0,
        ..config()
    }
}

/// The file, with a lease that covers its data.
fn state(size: u64) -> FileState {
    FileState {
        leased: true,
        data_leased: true,
        ..node(FILE, Kind::File, size, CHUNK)
    }
}

fn chunk(index: u32) -> ChunkId {
    ChunkId {
        file: FILE,
        index: index.into(),
    }
}

fn extent(offset: u64, size: u64, state: Option<FileState>) -> Reply {
    Reply::Extent {
        offset,
        stored: 0,
        size,
        chunk_bytes: CHUNK,
        writable: 0,
        reach: u64::MAX,
        truncations: Truncations::default(),
        state: state.map(Box::new),
    }
}

fn data(byte: u8) -> Payload {
    Payload::from(Bytes::from(vec![byte; CHUNK as usize]))
}

/// A request that changes a whole chunk. The home gets it first; the server of the chunk is slow.
fn change(request: Request, index: u32, size: u64, data: Payload) -> [Exchange; 2] {
    let placed = extent(u64::from(index) * OFFSET, size, Some(state(size)));
    let chunk_request = Request::WriteChunk {
        chunk: chunk(index),
        offset: 0,
        chunk_bytes: CHUNK,
        truncations: Truncations::default(),
    };
    let in_chunk = Exchange {
        data,
        polls: 1,
        ..exchange(index as u16, chunk_request, Ok(Reply::Done))
    };
    [exchange(0, request, Ok(placed)), in_chunk]
}

fn written(data: Payload) -> Vec<Exchange> {
    let reach = SIZE;
    let mut allowed = extent(0, SIZE, Some(state(SIZE)));
    if let Reply::Extent { writable, .. } = &mut allowed {
        *writable = reach;
    }
    let prepare = Request::PrepareWrite { id: FILE, reach };
    let request = Request::Write {
        id: FILE,
        offset: OFFSET,
        end: SIZE,
        covered_from: OFFSET,
        kill_privileges: false,
        written: None,
        heard: Some(0),
    };
    let prepared = exchange(0, prepare, Ok(allowed));
    let changed = change(request, 1, SIZE, data);
    std::iter::once(prepared).chain(changed).collect()
}

fn appended(data: Payload) -> Vec<Exchange> {
    let request = Request::Append {
        id: FILE,
        length: CHUNK,
        kill_privileges: false,
    };
    Vec::from(change(request, 2, SIZE + OFFSET, data))
}

fn read(index: u32, size: u64, answer: Payload) -> [Exchange; 2] {
    let offset = u64::from(index) * OFFSET;
    let request = Request::Read {
        id: FILE,
        offset,
        length: CHUNK,
    };
    let from_chunk = read_chunk(index, CHUNK, answer);
    [exchange(0, request, Ok(extent(0, size, None))), from_chunk]
}

/// A read of the start of a chunk, up to `to`.
fn read_chunk(index: u32, to: u32, answer: Payload) -> Exchange {
    let request = Request::ReadChunk {
        chunk: chunk(index),
        from: 0,
        to,
        chunk_bytes: CHUNK,
        truncations: Truncations::default(),
    };
    Exchange {
        answer,
        ..exchange(index as u16, request, Ok(Reply::Done))
    }
}

fn opened(state: FileState) -> Exchange {
    exchange(0, Request::Open(FILE), Ok(Reply::Opened(state)))
}

/// Reads a chunk during and after a change: both reads must ask the servers. The requests of the
/// change come before the first read, and perhaps one after it. Returns the outcome of the change.
fn read_during<T>(
    (index, size): (u32, u64),
    (old, new): (Payload, Payload),
    changed: (Vec<Exchange>, Option<Exchange>),
    change: impl AsyncFnOnce(&Client<Script>) -> T,
) -> T {
    let mut exchanges = vec![opened(state(SIZE))];
    exchanges.extend(changed.0);
    exchanges.extend(read(index, size, old.clone()));
    exchanges.extend(changed.1);
    exchanges.extend(read(index, size, new.clone()));
    let offset = u64::from(index) * OFFSET;
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let mut change = pin!(change(&client));
        let begun = poll_fn(|task| Poll::Ready(change.as_mut().poll(task))).await;
        assert!(begun.is_pending());
        let early = client.read(FILE, offset, CHUNK).await?;
        let outcome = change.await;
        let late = client.read(FILE, offset, CHUNK).await?;
        Ok::<_, Errno>(((early, late), outcome))
    });
    let (seen, outcome) = seen.expect("it is read");
    assert_eq!(seen, (old, new));
    outcome
}

#[test]
fn data_read_while_chunks_are_written_is_not_cached() {
    let (old, new) = (data(1), data(2));
    let changed = (written(new.clone()), None);
    let outcome = read_during((1, SIZE), (old, new.clone()), changed, async |client| {
        client.write(FILE, OFFSET, new, false).await
    });
    assert_eq!(outcome, Ok(SIZE));
}

/// Other chunks may be written although one write fails.
#[test]
fn data_read_while_a_write_of_chunks_fails_is_not_cached() {
    let (old, new) = (data(1), data(2));
    let mut failed = written(new.clone());
    if let Some(in_chunk) = failed.last_mut() {
        in_chunk.outcome = Err(Errno::ENOSPC.into());
    }
    let cut = exchange(0, Request::CutAhead(FILE), Ok(Reply::Done));
    let changed = (failed, Some(cut));
    let outcome = read_during((1, SIZE), (old, new.clone()), changed, async |client| {
        client.write(FILE, OFFSET, new, false).await
    });
    assert_eq!(outcome, Err(Errno::ENOSPC));
}

#[test]
fn data_read_while_chunks_are_appended_is_not_cached() {
    let (old, new, size) = (data(0), data(2), SIZE + OFFSET);
    let changed = (appended(new.clone()), None);
    let outcome = read_during((2, size), (old, new.clone()), changed, async |client| {
        client.append(FILE, new, false).await
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}

#[test]
fn the_home_is_asked_once_while_no_client_changes_the_file() {
    let size = SIZE + 10;
    let mut exchanges = vec![opened(state(size))];
    exchanges.extend(read(1, size, data(1)));
    exchanges.push(read_chunk(1, CHUNK, data(1)));
    exchanges.push(read_chunk(2, 10, data(2).slice(0, 10)));
    let pieces = run(asking(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let first = client.read(FILE, OFFSET, CHUNK).await?;
        let again = client.read(FILE, OFFSET, CHUNK).await?;
        let last = client.read(FILE, 2 * OFFSET, CHUNK).await?;
        let beyond = client.read(FILE, 3 * OFFSET, CHUNK).await?;
        Ok::<_, Errno>([first, again, last, beyond])
    });
    let last = data(2).slice(0, 10);
    assert_eq!(pieces, Ok([data(1), data(1), last, Payload::empty()]));
}

/// The home would report the size with that, too.
#[test]
fn the_home_is_asked_for_a_chunk_of_its_own() {
    let exchanges = || {
        let mut exchanges = vec![opened(state(SIZE))];
        exchanges.extend(read(1, SIZE, data(1)));
        let [mut first, _] = read(0, SIZE, data(0));
        first.answer = data(0);
        exchanges.push(first);
        exchanges
    };
    let pieces = run(asking(), exchanges(), None, |client| async move {
        client.open(FILE).await?;
        let other = client.read(FILE, OFFSET, CHUNK).await?;
        let own = client.read(FILE, 0, CHUNK).await?;
        Ok::<_, Errno>([other, own])
    });
    assert_eq!(pieces, Ok([data(1), data(0)]));
}

/// The access time is older than the change; the home renews it.
#[test]
fn the_home_is_asked_once_more_after_a_change_by_the_client() {
    let change = AttributeChange {
        mode: Some(0o600),
        ..AttributeChange::default()
    };
    let request = Request::SetAttributes { id: FILE, change };
    let mut changed = state(SIZE);
    changed.attributes.changed = Timestamp::from(Time(2000));
    let mut exchanges = vec![opened(state(SIZE))];
    exchanges.extend(read(1, SIZE, data(1)));
    exchanges.push(exchange(0, request, Ok(Reply::File(changed))));
    exchanges.extend(read(1, SIZE, data(1)));
    exchanges.push(read_chunk(1, CHUNK, data(1)));
    let read = run(asking(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.read(FILE, OFFSET, CHUNK).await?;
        client.set_attributes(FILE, change).await?;
        client.read(FILE, OFFSET, CHUNK).await?;
        client.read(FILE, OFFSET, CHUNK).await
    });
    assert_eq!(read, Ok(data(1)));
}

#[test]
fn the_home_is_asked_if_the_lease_was_recalled_before_the_chunk_came() {
    let lease = Lease {
        node: FILE,
        number: 1,
    };
    let slow = Exchange {
        polls: 1,
        ..read_chunk(1, CHUNK, data(1))
    };
    let returned = exchange(0, Request::GiveBack(vec![lease]), Ok(Reply::Done));
    let mut exchanges = vec![opened(state(SIZE))];
    exchanges.extend(read(1, SIZE, data(1)));
    exchanges.extend([slow, returned]);
    exchanges.extend(read(1, SIZE, data(2)));
    let seen = run(asking(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.read(FILE, OFFSET, CHUNK).await?;
        let mut reading = pin!(client.read(FILE, OFFSET, CHUNK));
        let begun = poll_fn(|task| Poll::Ready(reading.as_mut().poll(task))).await;
        assert!(begun.is_pending());
        client
            .recalled(ServerId(0), vec![LeaseRecall { lease, since: 1 }])
            .await;
        reading.await
    });
    assert_eq!(seen, Ok(data(2)));
}

/// A late reply must not pass for the newest.
#[test]
fn chunks_are_asked_with_the_truncations_that_came_with_the_read() {
    let mut newer = Truncations::default();
    newer.truncate(SIZE);
    let extent_reply = |truncations: &Truncations| {
        let mut reply = extent(0, SIZE, None);
        if let Reply::Extent {
            truncations: its, ..
        } = &mut reply
        {
            its.clone_from(truncations);
        }
        Ok(reply)
    };
    let with = |truncations: &Truncations| {
        let mut exchange = read_chunk(1, CHUNK, data(1));
        if let Request::ReadChunk {
            truncations: its, ..
        } = &mut exchange.request
        {
            its.clone_from(truncations);
        }
        exchange
    };
    let read = |offset, length| Request::Read {
        id: FILE,
        offset,
        length,
    };
    let slow = Exchange {
        polls: 1,
        ..with(&Truncations::default())
    };
    let exchanges = vec![
        opened(state(SIZE)),
        exchange(0, read(OFFSET, CHUNK), extent_reply(&newer)),
        slow,
        exchange(0, read(0, 0), extent_reply(&Truncations::default())),
        with(&newer),
        with(&newer),
    ];
    let seen = run(asking(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let mut reading = pin!(client.read(FILE, OFFSET, CHUNK));
        let begun = poll_fn(|task| Poll::Ready(reading.as_mut().poll(task))).await;
        assert!(begun.is_pending());
        client.write(FILE, 0, Payload::empty(), false).await?;
        reading.await?;
        client.read(FILE, OFFSET, CHUNK).await
    });
    assert_eq!(seen, Ok(data(1)));
}
