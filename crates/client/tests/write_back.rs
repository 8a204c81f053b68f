//! The buffered writes of a client, and their write-back.

mod script;

use bytes::Bytes;
use futago_base::{
    ChunkId, Duration, Errno, FileId, Kind, Payload, ServerId, SessionId, Time, Timestamp,
    record::Truncations,
};
use futago_client::Config;
use futago_wire::{Failure, FileState, Lease, LeaseRecall, Outcome, Reply, Request};
use script::{Exchange, Script, beside, exchange, node, run};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

type Client = futago_client::Client<Script>;

const FILE: FileId = FileId(5);
const CHUNK: u32 = 4096;
/// The size of the file at its home.
const SIZE: u64 = 10;

fn config() -> Config {
    Config {
        lease_trust: Some(Duration::from_secs(10)),
        data_bytes_max: 0,
        dirty_bytes_max: 100,
        exclusive_after: 1,
        ..Config::default()
    }
}

fn state(size: u64, exclusive: bool) -> FileState {
    FileState {
        leased: true,
        data_leased: true,
        exclusive,
        ..node(FILE, Kind::File, size, CHUNK)
    }
}

fn data(text: &'static [u8]) -> Payload {
    Payload::from(Bytes::from_static(text))
}

/// A client opens the file; its first write gets an exclusive lease, or not.
fn opened(exclusive: bool) -> Vec<Exchange> {
    vec![
        exchange(
            0,
            Request::Open(FILE),
            Ok(Reply::Opened(state(SIZE, false))),
        ),
        exchange(
            0,
            Request::TakeExclusive(FILE),
            Ok(Reply::File(state(SIZE, exclusive))),
        ),
    ]
}

fn extent(state: FileState) -> Reply {
    Reply::Extent {
        offset: 0,
        stored: 0,
        size: state.attributes.size,
        chunk_bytes: CHUNK,
        writable: 0,
        reach: u64::MAX,
        truncations: Truncations::default(),
        state: Some(Box::new(state)),
    }
}

fn write(offset: u64, text: &'static [u8], is_buffered: bool) -> Exchange {
    let end = offset + text.len() as u64;
    let request = Request::Write {
        id: FILE,
        offset,
        end,
        covered_from: offset,
        kill_privileges: false,
        // The time at which scripts run.
        written: is_buffered.then_some(Timestamp::from(Time(1000))),
        heard: None,
    };
    Exchange {
        data: data(text),
        ..exchange(0, request, Ok(extent(state(end.max(SIZE), true))))
    }
}

/// The same exchange with another outcome.
fn but(outcome: Outcome, exchange: Exchange) -> Exchange {
    Exchange {
        outcome,
        ..exchange
    }
}

/// Runs a script with an open file under an exclusive lease.
fn play<T, F: Future<Output = Result<T, Errno>>>(
    then: Vec<Exchange>,
    operation: impl FnOnce(Rc<Client>) -> F,
) -> Result<T, Errno> {
    let exchanges = opened(true).into_iter().chain(then).collect();
    run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        operation(client).await
    })
}

async fn put(client: &Client, offset: u64, text: &'static [u8]) -> Result<u64, Errno> {
    client.write(FILE, offset, data(text), false).await
}

#[test]
fn writes_are_buffered_and_sent_together() {
    let then = vec![beside(20, write(2, b"abXYef", true)), write(20, b"z", true)];
    let sizes = play(then, |client| async move {
        let sizes = [
            put(&client, 2, b"abcdef").await?,
            put(&client, 4, b"XY").await?,
            put(&client, 20, b"z").await?,
        ];
        client.synchronize(FILE).await?;
        client.synchronize(FILE).await?;
        Ok(sizes)
    });
    assert_eq!(sizes, Ok([SIZE, SIZE, 21]));
}

#[test]
fn appends_are_buffered_at_the_end() {
    let then = vec![write(SIZE, b"abcde", true)];
    let appended = play(then, |client| async move {
        let append = async |text| client.append(FILE, data(text), false).await;
        let offsets = [append(b"ab").await?, append(b"cde").await?];
        client.synchronize(FILE).await?;
        Ok(offsets)
    });
    assert_eq!(appended, Ok([SIZE, SIZE + 2]));
}

/// A write of a chunk other than the first.
fn write_chunk(index: u16, text: &'static [u8]) -> Exchange {
    let request = Request::WriteChunk {
        chunk: ChunkId {
            file: FILE,
            index: index.into(),
        },
        offset: 0,
        chunk_bytes: CHUNK,
        truncations: Truncations::default(),
    };
    Exchange {
        data: data(text),
        ..exchange(index, request, Ok(Reply::Done))
    }
}

/// Notifies the home of pieces that end at `end`, and brings it its part of the first piece.
fn write_all(offset: u64, text: &'static [u8], end: u64) -> Exchange {
    let request = Request::Write {
        id: FILE,
        offset,
        end,
        covered_from: offset,
        kill_privileges: false,
        written: Some(Timestamp::from(Time(1000))),
        heard: Some(0),
    };
    Exchange {
        request,
        ..but(Ok(extent(state(end, true))), write(offset, text, true))
    }
}

fn prepare_write(reach: u64) -> Exchange {
    let mut allowed = extent(state(SIZE, true));
    if let Reply::Extent { writable, .. } = &mut allowed {
        *writable = reach;
    }
    exchange(0, Request::PrepareWrite { id: FILE, reach }, Ok(allowed))
}

#[test]
fn the_home_is_notified_of_all_chunks_at_once() {
    let offset = |index: u64| index * u64::from(CHUNK);
    let then = vec![
        prepare_write(offset(2) + 1),
        write_chunk(1, b"1"),
        write_chunk(2, b"2"),
        beside(offset(2), write_all(0, b"0", offset(2) + 1)),
        prepare_write(offset(3) + 1),
        write_chunk(3, b"4"),
        write_chunk(1, b"3"),
        write_all(offset(3), b"", offset(3) + 1),
    ];
    let sizes = play(then, |client| async move {
        put(&client, 0, b"0").await?;
        put(&client, offset(1), b"1").await?;
        put(&client, offset(2), b"2").await?;
        client.synchronize(FILE).await?;
        put(&client, offset(1), b"3").await?;
        let size = put(&client, offset(3), b"4").await?;
        client.synchronize(FILE).await?;
        Ok((size, client.attributes(FILE).await?.attributes.size))
    });
    assert_eq!(sizes, Ok((offset(3) + 1, offset(3) + 1)));
}

#[test]
fn a_client_without_an_exclusive_lease_writes_through_and_asks_ever_more_seldom() {
    let take = || {
        exchange(
            0,
            Request::TakeExclusive(FILE),
            Ok(Reply::File(state(SIZE, false))),
        )
    };
    let written = || but(Ok(extent(state(SIZE, false))), write(0, b"a", false));
    let then = [written(), take(), written(), written(), take(), written()];
    let exchanges = opened(false).into_iter().chain(then).collect();
    let written = run(config(), exchanges, None, |client| async move {
        client.open(FILE).await?;
        for _ in 0..4 {
            put(&client, 0, b"a").await?;
        }
        Ok::<_, Errno>(())
    });
    assert_eq!(written, Ok(()));
}

#[test]
fn dirty_data_is_read_from_the_buffer_and_overlays_the_data_of_the_home() {
    let read = Request::Read {
        id: FILE,
        offset: 0,
        length: 100,
    };
    let read = Exchange {
        answer: data(b"0123456789"),
        ..exchange(0, read, Ok(extent(state(SIZE, true))))
    };
    let seen = play(vec![read], |client| async move {
        put(&client, 2, b"ab").await?;
        put(&client, 12, b"z").await?;
        let buffered = client.read(FILE, 3, 1).await?.bytes();
        Ok((buffered, client.read(FILE, 0, 100).await?.bytes()))
    });
    let (buffered, all) = seen.expect("it is read");
    assert_eq!(&buffered[..], b"b");
    assert_eq!(&all[..], b"01ab456789\0\0z");
}

#[test]
fn a_request_for_attributes_writes_back_first() {
    let then = vec![write(12, b"z", true)];
    let size = play(then, |client| async move {
        put(&client, 12, b"z").await?;
        Ok(client.attributes(FILE).await?.attributes.size)
    });
    assert_eq!(size, Ok(13));
}

#[test]
fn too_much_dirty_data_is_written_back() {
    const TEXT: &[u8] = &[7; 101];
    let then = vec![write(0, TEXT, true)];
    assert_eq!(
        play(then, |client| async move { put(&client, 0, TEXT).await }),
        Ok(101)
    );
}

#[test]
fn a_lease_is_returned_after_its_dirty_data_is_written_back() {
    let lease = Lease {
        node: FILE,
        number: 2,
    };
    let return_leases = exchange(0, Request::GiveBack(vec![lease]), Ok(Reply::Done));
    let unleased = || Ok(extent(node(FILE, Kind::File, SIZE, CHUNK)));
    let then = vec![
        but(unleased(), write(0, b"a", true)),
        return_leases,
        but(unleased(), write(0, b"b", false)),
    ];
    let size = play(then, |client| async move {
        put(&client, 0, b"a").await?;
        client
            .recalled(ServerId(0), vec![LeaseRecall { lease, since: 1 }])
            .await;
        put(&client, 0, b"b").await
    });
    assert_eq!(size, Ok(SIZE));
}

/// The home would fence it otherwise, and what is buffered would be lost.
#[test]
fn a_client_that_waits_for_a_server_asks_for_time_when_a_lease_is_recalled_again() {
    let lease = Lease {
        node: FILE,
        number: 2,
    };
    let give_back = || exchange(0, Request::GiveBack(vec![lease]), Ok(Reply::Done));
    let still_writing = exchange(0, Request::StillWriting(vec![FILE]), Ok(Reply::Done));
    let slow = Exchange {
        polls: 1,
        ..write(0, b"a", true)
    };
    let then = vec![slow, still_writing, give_back(), give_back()];
    let returned = play(then, |client| async move {
        put(&client, 0, b"a").await?;
        let recall = || client.recalled(ServerId(0), vec![LeaseRecall { lease, since: 1 }]);
        let (mut first, mut second) = (pin!(recall()), pin!(recall()));
        for returning in [first.as_mut(), second.as_mut()] {
            let mut returning = returning;
            let begun = poll_fn(|task| Poll::Ready(returning.as_mut().poll(task))).await;
            assert!(begun.is_pending());
        }
        first.await;
        second.await;
        Ok(())
    });
    assert_eq!(returned, Ok(()));
}

#[test]
fn a_lost_write_is_reported_once_and_the_file_is_closed() {
    let full = Err(Failure::Errno(Errno::ENOSPC));
    let then = vec![
        but(full, write(0, b"a", true)),
        exchange(0, Request::Close(FILE), Ok(Reply::Done)),
    ];
    let outcome = play(then, |client| async move {
        put(&client, 0, b"a").await?;
        let closed = client.close(FILE).await;
        Ok((closed, client.synchronize(FILE).await))
    });
    assert_eq!(outcome, Ok((Err(Errno::ENOSPC), Ok(()))));
}

#[test]
fn a_lost_write_is_not_reported_to_another_write_which_is_sent_at_once() {
    let full = Err(Failure::Errno(Errno::ENOSPC));
    let alive = |server| exchange(server, Request::KeepAlive, Ok(Reply::Done));
    let mut then: Vec<Exchange> = (0..4).map(alive).collect();
    then.extend([
        but(full, write(0, b"a", true)),
        write(1, b"b", false),
        exchange(0, Request::Close(FILE), Ok(Reply::Done)),
    ]);
    let outcome = play(then, |client| async move {
        put(&client, 0, b"a").await?;
        client.keep_alive().await?;
        put(&client, 1, b"b").await?;
        Ok(client.close(FILE).await)
    });
    assert_eq!(outcome, Ok(Err(Errno::ENOSPC)));
}

#[test]
fn a_client_that_stops_buffering_writes_back_and_then_sends_at_once() {
    let then = vec![write(0, b"a", true), write(1, b"b", false)];
    let outcome = play(then, |client| async move {
        put(&client, 0, b"a").await?;
        assert!(client.stop_buffering().await.is_empty());
        put(&client, 1, b"b").await
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// The next session must not write dirty data of an ended one, because other clients may have
/// changed the file since.
#[test]
fn dirty_data_ends_with_its_session() {
    let alive = |server| exchange(server, Request::KeepAlive, Ok(Reply::Done));
    let over = but(Err(Failure::SessionExpired), alive(0));
    let then = vec![over, alive(1), alive(2), alive(3)];
    let outcome = play(then, |client| async move {
        put(&client, 0, b"a").await?;
        let alive = client.keep_alive().await;
        Ok((alive, client.synchronize(FILE).await))
    });
    assert_eq!(outcome, Ok((Err(Errno::ESTALE), Err(Errno::ESTALE))));
}

/// The same holds before any reply has reported the end of the session.
#[test]
fn dirty_data_is_not_written_back_by_the_next_session() {
    let outcome = play(vec![], |client| async move {
        put(&client, 0, b"a").await?;
        client.context().session.set(SessionId(10));
        Ok(client.synchronize(FILE).await)
    });
    assert_eq!(outcome, Ok(Err(Errno::ESTALE)));
}
