//! What a client keeps of a file of several chunks, and whom it asks for them.

mod script;

use bytes::Bytes;
use futago_base::{
    ChunkId, Duration, Errno, FileId, Kind, Payload, Time, Timestamp, record::Truncations,
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
/// That of chunk 1.
const OFFSET: u64 = CHUNK as u64;
const SIZE: u64 = 2 * OFFSET;

fn config() -> Config {
    Config {
        lease_trust: Some(Duration::from_secs(10)),
        ..Config::default()
    }
}

/// Keeps no data.
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

/// A request that changes a whole chunk. The home hears of it first; the chunk's server is slow.
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
        looks: 1,
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

/// A request for the beginning of a chunk, up to `to`.
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

/// Reads a chunk while it is changed, and after that: both times it must be asked for. What the
/// change asks comes before the first read, and perhaps something after it. Returns what came of
/// the change.
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
fn what_is_read_while_chunks_are_written_is_not_kept() {
    let (old, new) = (data(1), data(2));
    let changed = (written(new.clone()), None);
    let outcome = read_during((1, SIZE), (old, new.clone()), changed, async |client| {
        client.write(FILE, OFFSET, new, false).await
    });
    assert_eq!(outcome, Ok(SIZE));
}

/// Other chunks may be written although one is not.
#[test]
fn what_is_read_while_a_write_of_chunks_fails_is_not_kept() {
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
fn what_is_read_while_chunks_are_appended_is_not_kept() {
    let (old, new, size) = (data(0), data(2), SIZE + OFFSET);
    let changed = (appended(new.clone()), None);
    let outcome = read_during((2, size), (old, new.clone()), changed, async |client| {
        client.append(FILE, new, false).await
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}

#[test]
fn the_home_is_asked_once_while_nobody_changes_the_file() {
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

/// The home would tell the size with that, too.
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

/// The access time is older than the change, and is set by the home.
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
fn the_home_is_asked_if_the_lease_was_called_back_before_the_chunk_came() {
    let lease = Lease {
        node: FILE,
        number: 1,
    };
    let slow = Exchange {
        looks: 1,
        ..read_chunk(1, CHUNK, data(1))
    };
    let given_back = exchange(0, Request::GiveBack(vec![lease]), Ok(Reply::Done));
    let mut exchanges = vec![opened(state(SIZE))];
    exchanges.extend(read(1, SIZE, data(1)));
    exchanges.extend([slow, given_back]);
    exchanges.extend(read(1, SIZE, data(2)));
    let seen = run(asking(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        client.read(FILE, OFFSET, CHUNK).await?;
        let mut reading = pin!(client.read(FILE, OFFSET, CHUNK));
        let begun = poll_fn(|task| Poll::Ready(reading.as_mut().poll(task))).await;
        assert!(begun.is_pending());
        client.recalled(LeaseRecall { lease, since: 1 }).await;
        reading.await
    });
    assert_eq!(seen, Ok(data(2)));
}

/// An answer that comes late must not be taken for the newest.
#[test]
fn chunks_are_asked_with_the_shrinkings_that_came_with_the_read() {
    let mut newer = Truncations::default();
    newer.truncate(SIZE);
    let told = |truncations: &Truncations| {
        let mut told = extent(0, SIZE, None);
        if let Reply::Extent {
            truncations: its, ..
        } = &mut told
        {
            its.clone_from(truncations);
        }
        Ok(told)
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
        looks: 1,
        ..with(&Truncations::default())
    };
    let exchanges = vec![
        opened(state(SIZE)),
        exchange(0, read(OFFSET, CHUNK), told(&newer)),
        slow,
        exchange(0, read(0, 0), told(&Truncations::default())),
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
