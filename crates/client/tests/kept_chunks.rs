//! What a client keeps of a file whose chunks it is changing.

mod script;

use bytes::Bytes;
use futago_base::{
    Attributes, ChunkId, Duration, Errno, FileId, Kind, Payload, record::Truncations,
};
use futago_client::Config;
use futago_wire::{FileState, Reply, Request};
use script::{Exchange, exchange, node, run};
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

/// The file, with a lease that covers its data.
fn state() -> FileState {
    FileState {
        leased: true,
        data_leased: true,
        ..node(FILE, Kind::File, SIZE, CHUNK)
    }
}

fn chunk() -> ChunkId {
    ChunkId {
        file: FILE,
        index: 1,
    }
}

fn extent(state: Option<FileState>) -> Reply {
    Reply::Extent {
        offset: 0,
        stored: 0,
        size: SIZE,
        chunk_bytes: CHUNK,
        writable: 0,
        truncations: Truncations::default(),
        state: state.map(Box::new),
    }
}

fn data(byte: u8) -> Payload {
    Payload::from(Bytes::from(vec![byte; CHUNK as usize]))
}

/// The home hears of it first; the chunk's server is slow.
fn written(data: Payload) -> [Exchange; 2] {
    let request = Request::Write {
        id: FILE,
        offset: OFFSET,
        end: SIZE,
        kill_privileges: false,
        written: None,
    };
    let chunk_request = Request::WriteChunk {
        chunk: chunk(),
        offset: 0,
        chunk_bytes: CHUNK,
        truncations: Truncations::default(),
    };
    let in_chunk = Exchange {
        data,
        looks: 1,
        ..exchange(1, chunk_request, Ok(Reply::Done))
    };
    [exchange(0, request, Ok(extent(Some(state())))), in_chunk]
}

fn read(answer: Payload) -> [Exchange; 2] {
    let request = Request::Read {
        id: FILE,
        offset: OFFSET,
        length: CHUNK,
    };
    let chunk_request = Request::ReadChunk {
        chunk: chunk(),
        from: 0,
        to: CHUNK,
        chunk_bytes: CHUNK,
        truncations: Truncations::default(),
    };
    let from_chunk = Exchange {
        answer,
        ..exchange(1, chunk_request, Ok(Reply::Done))
    };
    [exchange(0, request, Ok(extent(None))), from_chunk]
}

/// The home places it after the end; the chunk's server is slow.
fn appended(data: Payload) -> [Exchange; 2] {
    let request = Request::Append {
        id: FILE,
        length: CHUNK,
        kill_privileges: false,
    };
    let grown = FileState {
        attributes: Attributes {
            size: SIZE + OFFSET,
            ..state().attributes
        },
        ..state()
    };
    let placed = Reply::Extent {
        offset: SIZE,
        stored: 0,
        size: SIZE + OFFSET,
        chunk_bytes: CHUNK,
        writable: 0,
        truncations: Truncations::default(),
        state: Some(Box::new(grown)),
    };
    let chunk_request = Request::WriteChunk {
        chunk: ChunkId {
            index: 2,
            ..chunk()
        },
        offset: 0,
        chunk_bytes: CHUNK,
        truncations: Truncations::default(),
    };
    let in_chunk = Exchange {
        data,
        looks: 1,
        ..exchange(2, chunk_request, Ok(Reply::Done))
    };
    [exchange(0, request, Ok(placed)), in_chunk]
}

fn read_appended(answer: Payload) -> [Exchange; 2] {
    let request = Request::Read {
        id: FILE,
        offset: SIZE,
        length: CHUNK,
    };
    let chunk_request = Request::ReadChunk {
        chunk: ChunkId {
            index: 2,
            ..chunk()
        },
        from: 0,
        to: CHUNK,
        chunk_bytes: CHUNK,
        truncations: Truncations::default(),
    };
    let size = SIZE + OFFSET;
    let told = Reply::Extent {
        offset: 0,
        stored: 0,
        size,
        chunk_bytes: CHUNK,
        writable: 0,
        truncations: Truncations::default(),
        state: None,
    };
    let from_chunk = Exchange {
        answer,
        ..exchange(2, chunk_request, Ok(Reply::Done))
    };
    [exchange(0, request, Ok(told)), from_chunk]
}

#[test]
fn what_is_read_while_chunks_are_appended_is_not_kept() {
    let (old, new) = (data(0), data(2));
    let mut exchanges = vec![exchange(0, Request::Open(FILE), Ok(Reply::Opened(state())))];
    exchanges.extend(appended(new.clone()));
    exchanges.extend(read_appended(old.clone()));
    exchanges.extend(read_appended(new.clone()));
    let to_append = new.clone();
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let mut append = pin!(client.append(FILE, to_append, false));
        let begun = poll_fn(|task| Poll::Ready(append.as_mut().poll(task))).await;
        assert!(begun.is_pending());
        let early = client.read(FILE, SIZE, CHUNK).await?;
        append.await?;
        let late = client.read(FILE, SIZE, CHUNK).await?;
        Ok::<_, Errno>([early, late])
    });
    assert_eq!(seen, Ok([old, new]));
}

/// Other chunks may be written although one is not.
#[test]
fn what_is_read_while_a_write_of_chunks_fails_is_not_kept() {
    let (old, new) = (data(1), data(2));
    let mut exchanges = vec![exchange(0, Request::Open(FILE), Ok(Reply::Opened(state())))];
    let [at_home, in_chunk] = written(new.clone());
    let failed = Exchange {
        outcome: Err(Errno::ENOSPC.into()),
        ..in_chunk
    };
    exchanges.extend([at_home, failed]);
    exchanges.extend(read(old.clone()));
    exchanges.extend(read(new.clone()));
    let to_write = new.clone();
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let mut write = pin!(client.write(FILE, OFFSET, to_write, false));
        let begun = poll_fn(|task| Poll::Ready(write.as_mut().poll(task))).await;
        assert!(begun.is_pending());
        let early = client.read(FILE, OFFSET, CHUNK).await?;
        assert_eq!(write.await, Err(Errno::ENOSPC));
        let late = client.read(FILE, OFFSET, CHUNK).await?;
        Ok::<_, Errno>([early, late])
    });
    assert_eq!(seen, Ok([old, new]));
}

#[test]
fn what_is_read_while_chunks_are_written_is_not_kept() {
    let (old, new) = (data(1), data(2));
    let mut exchanges = vec![exchange(0, Request::Open(FILE), Ok(Reply::Opened(state())))];
    exchanges.extend(written(new.clone()));
    exchanges.extend(read(old.clone()));
    exchanges.extend(read(new.clone()));
    let to_write = new.clone();
    let seen = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        let mut write = pin!(client.write(FILE, OFFSET, to_write, false));
        let begun = poll_fn(|task| Poll::Ready(write.as_mut().poll(task))).await;
        assert!(begun.is_pending());
        let early = client.read(FILE, OFFSET, CHUNK).await?;
        write.await?;
        let late = client.read(FILE, OFFSET, CHUNK).await?;
        Ok::<_, Errno>([early, late])
    });
    assert_eq!(seen, Ok([old, new]));
}
