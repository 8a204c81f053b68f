//! The exact requests of operations, with replies that real servers rarely give.

mod script;

use bytes::Bytes;
use futago_base::{
    BucketStart, ChunkId, Errno, FileId, Kind, Payload,
    record::{Entry, Truncation, Truncations},
};
use futago_client::{Client, Config};
use futago_wire::{AttributeChange, Failure, FileState, Reply, Request};
use script::{
    CHUNK, Exchange, Script, exchange, file, found, id, name, node, play, run, spot, state,
};
use std::rc::Rc;

/// Runs an operation while every request fails.
fn fail<T, F: Future<Output = T>>(
    failure: Failure,
    operation: impl FnOnce(Rc<Client<Script>>) -> F,
) -> T {
    run(Config::default(), Vec::new(), Some(failure), operation)
}

fn data(text: &'static [u8]) -> Payload {
    Payload::from(Bytes::from_static(text))
}

/// A name in the upper half of the hashes.
fn upper_name() -> String {
    let mut names = (0..).map(|i| format!("n{i}"));
    names
        .find(|text| name(text).hash().0 >= 1 << 62)
        .expect("half of all names")
}

#[test]
fn a_moved_name_is_found_and_remembered() {
    let (directory, text) = (id(0, 5), upper_name());
    let entry = file(id(1, 7));
    let moved = Failure::Moved {
        bucket: BucketStart(0),
        level: 1,
    };
    let there = || Request::Lookup(spot(directory, 1 << 62, &text));
    let exchanges = vec![
        exchange(0, Request::Lookup(spot(directory, 0, &text)), Err(moved)),
        exchange(1, there(), Ok(found(entry, true))),
        exchange(1, there(), Ok(found(entry, true))),
    ];
    let sought = name(&text);
    let ids = play(exchanges, |client| async move {
        let first = client.lookup(directory, &sought).await;
        let second = client.lookup(directory, &sought).await;
        [first, second].map(|found| found.map(|state| state.attributes.id))
    });
    assert_eq!(ids, [Ok(entry.id), Ok(entry.id)]);
}

/// A lookup of the last name of a path, and the reply of the home of its file.
fn walked(text: &str, entry: Entry, home: Result<FileState, Errno>) -> [Exchange; 2] {
    let lookup = Request::Lookup(spot(FileId::ROOT, 0, text));
    let ask = Request::GetAttributes(vec![entry.id]);
    [
        exchange(0, lookup, Ok(found(entry, false))),
        exchange(1, ask, Ok(Reply::Files(vec![home]))),
    ]
}

#[test]
fn a_path_whose_end_was_replaced_is_walked_again() {
    let (old, new) = (file(id(1, 7)), file(id(1, 8)));
    let mut exchanges = Vec::from(walked("name", old, Err(Errno::ESTALE)));
    let lookup = Request::Lookup(spot(FileId::ROOT, 0, "name"));
    exchanges.push(exchange(0, lookup, Ok(found(new, false))));
    exchanges.extend(walked("name", new, Ok(state(new.id, new.kind))));
    let resolved = play(exchanges, |client| async move {
        client.resolve(b"/name", true).await
    });
    assert_eq!(resolved.map(|state| state.attributes.id), Ok(new.id));
}

#[test]
fn a_path_whose_link_was_replaced_is_walked_again() {
    let link = Entry {
        id: id(1, 7),
        kind: Kind::Symlink,
    };
    let new = file(id(1, 8));
    let lookup = || Request::Lookup(spot(FileId::ROOT, 0, "name"));
    let read = Request::ReadLink(link.id);
    let mut exchanges = vec![
        exchange(0, lookup(), Ok(found(link, true))),
        exchange(1, read, Err(Errno::ESTALE.into())),
        exchange(0, lookup(), Ok(found(new, false))),
    ];
    exchanges.extend(walked("name", new, Ok(state(new.id, new.kind))));
    let resolved = play(exchanges, |client| async move {
        client.resolve(b"/name", true).await
    });
    assert_eq!(resolved.map(|state| state.attributes.id), Ok(new.id));
}

#[test]
fn a_path_whose_end_is_lost_is_stale() {
    let lost = file(id(1, 7));
    let mut exchanges = Vec::from(walked("name", lost, Err(Errno::ESTALE)));
    let lookup = Request::Lookup(spot(FileId::ROOT, 0, "name"));
    exchanges.push(exchange(0, lookup, Ok(found(lost, false))));
    let resolved = play(exchanges, |client| async move {
        client.resolve(b"/name", true).await
    });
    assert_eq!(resolved, Err(Errno::ESTALE));
}

#[test]
fn failures_that_go_on_end_with_an_error() {
    let directory = id(0, 5);
    let useless = Failure::Moved {
        bucket: BucketStart(0),
        level: 0,
    };
    for (failure, errno) in [
        (useless, Errno::EBUSY),
        (Failure::Busy, Errno::EBUSY),
        (Failure::Aborted, Errno::EBUSY),
        (Failure::NoBucket, Errno::EIO),
        (Failure::SessionExpired, Errno::EIO),
        (Failure::Late, Errno::EIO),
        (Failure::WrongServer, Errno::EIO),
        (Errno::ENOSPC.into(), Errno::ENOSPC),
    ] {
        let unlinked = fail(failure, |client| async move {
            client.unlink(directory, &name("f")).await
        });
        assert_eq!(unlinked, Err(errno), "{failure:?}");
    }
}

#[test]
fn a_bucket_on_its_way_is_waited_for() {
    let directory = id(2, 5);
    let request = || Request::Unlink {
        at: spot(directory, 0, "f"),
        file: None,
    };
    let home = state(directory, Kind::Directory);
    let exchanges = vec![
        exchange(2, request(), Err(Failure::NoBucket)),
        exchange(
            2,
            Request::GetAttributes(vec![directory]),
            Ok(Reply::Files(vec![Ok(home)])),
        ),
        exchange(2, request(), Ok(Reply::Done)),
    ];
    let unlinked = play(exchanges, |client| async move {
        client.unlink(directory, &name("f")).await
    });
    assert_eq!(unlinked, Ok(()));
}

fn read_chunk(to: u32, truncations: &Truncations) -> Request {
    Request::ReadChunk {
        chunk: ChunkId {
            file: id(0, 5),
            index: 1,
        },
        from: 0,
        to,
        chunk_bytes: CHUNK,
        truncations: truncations.clone(),
    }
}

fn extent(truncations: &Truncations) -> Reply {
    Reply::Extent {
        offset: 0,
        stored: 0,
        size: u64::from(CHUNK) + 4,
        chunk_bytes: CHUNK,
        writable: u64::from(CHUNK) + 4,
        reach: u64::MAX,
        truncations: truncations.clone(),
        state: None,
    }
}

fn write(offset: u64, length: u64, heard: Option<u64>) -> Request {
    Request::Write {
        id: id(0, 5),
        offset,
        end: offset + length,
        covered_from: offset,
        kill_privileges: false,
        written: None,
        heard,
    }
}

fn prepare_write(reach: u64) -> Request {
    Request::PrepareWrite {
        id: id(0, 5),
        reach,
    }
}

fn look() -> Request {
    Request::Read {
        id: id(0, 5),
        offset: 0,
        length: 0,
    }
}

fn write_chunk(
    truncations: &Truncations,
    text: &'static [u8],
    outcome: Result<Reply, Failure>,
) -> Exchange {
    let request = Request::WriteChunk {
        chunk: ChunkId {
            file: id(0, 5),
            index: 1,
        },
        offset: 0,
        chunk_bytes: CHUNK,
        truncations: truncations.clone(),
    };
    Exchange {
        data: data(text),
        ..exchange(1, request, outcome)
    }
}

fn cut_at(sequence: u64, size: u64) -> Truncations {
    let mut truncations = Truncations {
        latest: sequence - 1,
        ..Truncations::default()
    };
    truncations.truncate(size);
    truncations
}

#[test]
fn chunks_beyond_what_the_home_has_allowed_are_written_after_it() {
    let none = Truncations::default();
    let refused = Err(Failure::Errno(Errno::ENOSPC));
    let beyond = vec![
        exchange(0, look(), Ok(extent(&none))),
        exchange(0, prepare_write(u64::from(CHUNK) + 5), Ok(extent(&none))),
        exchange(0, write(u64::from(CHUNK), 5, None), refused.clone()),
    ];
    let written = play(beyond, |client| async move {
        client
            .write(id(0, 5), u64::from(CHUNK), data(b"12345"), false)
            .await
    });
    assert_eq!(written, Err(Errno::ENOSPC));
    let within = vec![
        exchange(0, look(), Ok(extent(&none))),
        exchange(0, write(u64::from(CHUNK), 4, Some(0)), refused),
        write_chunk(&none, b"1234", Ok(Reply::Done)),
        exchange(0, Request::CutAhead(id(0, 5)), Ok(Reply::Done)),
    ];
    let written = play(within, |client| async move {
        client
            .write(id(0, 5), u64::from(CHUNK), data(b"1234"), false)
            .await
    });
    assert_eq!(written, Err(Errno::ENOSPC));
}

#[test]
fn data_cut_by_a_later_truncation_is_not_written_again() {
    let (first, later) = (cut_at(1, 0), cut_at(2, u64::from(CHUNK) + 1));
    let exchanges = vec![
        exchange(0, look(), Ok(extent(&first))),
        exchange(0, write(u64::from(CHUNK), 4, Some(1)), Ok(extent(&first))),
        write_chunk(&first, b"1234", Err(Failure::Changed)),
        write_chunk(&first, b"1234", Err(Failure::Changed)),
        // The file has been truncated since; its size may have been raised again.
        exchange(0, look(), Ok(extent(&later))),
        write_chunk(&later, b"1", Ok(Reply::Done)),
    ];
    let written = play(exchanges, |client| async move {
        client
            .write(id(0, 5), u64::from(CHUNK), data(b"1234"), false)
            .await
    });
    assert_eq!(written, Ok(u64::from(CHUNK) + 4));
}

/// No client sees a size whose data is still under way.
#[test]
fn the_home_is_notified_of_growth_when_the_chunks_are_written() {
    let none = Truncations::default();
    let end = u64::from(CHUNK) + 5;
    let mut allowed = extent(&none);
    if let Reply::Extent { writable, .. } = &mut allowed {
        *writable = end;
    }
    let later = cut_at(1, u64::from(CHUNK));
    let mut allowed_later = extent(&later);
    if let Reply::Extent { writable, .. } = &mut allowed_later {
        *writable = end;
    }
    let exchanges = vec![
        exchange(0, look(), Ok(extent(&none))),
        exchange(0, prepare_write(end), Ok(allowed)),
        write_chunk(&none, b"12345", Ok(Reply::Done)),
        // A truncation may have cut the written data.
        exchange(
            0,
            write(u64::from(CHUNK), 5, Some(0)),
            Err(Failure::Changed),
        ),
        exchange(0, look(), Ok(allowed_later.clone())),
        write_chunk(&later, b"12345", Ok(Reply::Done)),
        exchange(0, write(u64::from(CHUNK), 5, Some(1)), Ok(allowed_later)),
    ];
    let written = play(exchanges, |client| async move {
        client
            .write(id(0, 5), u64::from(CHUNK), data(b"12345"), false)
            .await
    });
    assert!(written.is_ok(), "{written:?}");
}

/// The end of a session that has a file open removes its data beyond the size.
#[test]
fn a_client_that_has_closed_a_file_asks_before_it_writes_ahead_again() {
    let none = Truncations::default();
    let end = u64::from(CHUNK) + 5;
    let mut allowed = extent(&none);
    if let Reply::Extent { writable, .. } = &mut allowed {
        *writable = end;
    }
    let change = || {
        [
            exchange(0, prepare_write(end), Ok(allowed.clone())),
            write_chunk(&none, b"12345", Ok(Reply::Done)),
            exchange(0, write(u64::from(CHUNK), 5, Some(0)), Ok(allowed.clone())),
        ]
    };
    let look = exchange(0, look(), Ok(extent(&none)));
    let close = exchange(0, Request::Close(id(0, 5)), Ok(Reply::Done));
    let exchanges = [look].into_iter().chain(change());
    let exchanges = exchanges.chain([close]).chain(change()).collect();
    let written = play(exchanges, |client| async move {
        let write = || client.write(id(0, 5), u64::from(CHUNK), data(b"12345"), false);
        write().await?;
        client.close(id(0, 5)).await?;
        write().await
    });
    assert!(written.is_ok(), "{written:?}");
}

fn append() -> Exchange {
    let request = Request::Append {
        id: id(0, 5),
        length: 4,
        kill_privileges: false,
    };
    Exchange {
        data: data(b"1234"),
        ..exchange(0, request, Ok(Reply::Done))
    }
}

/// The reply to an append of four bytes to a file of one chunk.
fn given(size: u64, truncations: &Truncations) -> Result<Reply, Failure> {
    let mut given = extent(truncations);
    if let Reply::Extent {
        offset, size: its, ..
    } = &mut given
    {
        (*offset, *its) = (u64::from(CHUNK), size);
    }
    Ok(given)
}

#[test]
fn the_size_covers_an_append_when_its_chunks_are_written() {
    let (none, later) = (Truncations::default(), cut_at(1, u64::from(CHUNK)));
    let finish = |heard| Request::FinishAppend {
        id: id(0, 5),
        from: u64::from(CHUNK),
        to: u64::from(CHUNK) + 4,
        kill_privileges: false,
        heard,
    };
    let before = u64::from(CHUNK);
    let first = Exchange {
        outcome: given(before, &none),
        ..append()
    };
    let second = Exchange {
        outcome: given(before, &later),
        // The file is known to be longer than chunk 0.
        data: Payload::empty(),
        ..append()
    };
    let exchanges = vec![
        first,
        write_chunk(&none, b"1234", Ok(Reply::Done)),
        // A truncation has dropped the range.
        exchange(0, finish(0), Err(Failure::Changed)),
        second,
        write_chunk(&later, b"1234", Ok(Reply::Done)),
        exchange(0, finish(1), given(before + 4, &later)),
    ];
    let appended = play(exchanges, |client| async move {
        client.append(id(0, 5), data(b"1234"), false).await
    });
    assert_eq!(appended, Ok(before));
}

#[test]
fn the_rest_of_an_append_is_written_without_growing_the_file_again() {
    let none = Truncations::default();
    let exchanges = vec![
        Exchange {
            outcome: given(u64::from(CHUNK) + 4, &none),
            ..append()
        },
        write_chunk(&none, b"1234", Ok(Reply::Done)),
    ];
    let appended = play(exchanges, |client| async move {
        client.append(id(0, 5), data(b"1234"), false).await
    });
    assert_eq!(appended, Ok(u64::from(CHUNK)));
}

/// The file is removed before its chunks can be counted.
#[test]
fn a_change_that_is_done_does_not_fail_afterwards() {
    let size = u64::from(CHUNK) + 4;
    let change = AttributeChange {
        size: Some(size),
        ..AttributeChange::default()
    };
    let mut changed = node(id(0, 5), Kind::File, size, CHUNK);
    changed.attributes.allocated_bytes = None;
    let set = Request::SetAttributes {
        id: id(0, 5),
        change,
    };
    let exchanges = vec![
        exchange(0, set, Ok(Reply::File(changed))),
        exchange(0, look(), Err(Errno::ESTALE.into())),
    ];
    let state = play(exchanges, |client| async move {
        client.set_attributes(id(0, 5), change).await
    });
    let allocated = state.map(|state| state.attributes.allocated_bytes);
    assert_eq!(allocated, Ok(Some(size)));
}

#[test]
fn chunks_that_were_asked_with_old_knowledge_are_asked_again() {
    let old = Truncations::default();
    let new = Truncations {
        latest: 3,
        steps: vec![Truncation {
            sequence: 3,
            size: 9,
        }],
    };
    let read = || Request::Read {
        id: id(0, 5),
        offset: u64::from(CHUNK),
        length: 100,
    };
    let chunk = |to, truncations: &Truncations, text| Exchange {
        answer: data(text),
        ..exchange(1, read_chunk(to, truncations), Ok(Reply::Done))
    };
    let exchanges = vec![
        exchange(0, read(), Ok(extent(&old))),
        chunk(4, &old, b"old."),
        exchange(0, read(), Ok(extent(&new))),
        // The file may have grown, so the read requests up to the end of the chunk.
        chunk(100, &old, b"old."),
        chunk(100, &new, b"new."),
    ];
    let reads = play(exchanges, |client| async move {
        let first = client.read(id(0, 5), u64::from(CHUNK), 100).await;
        let second = client.read(id(0, 5), u64::from(CHUNK), 100).await;
        [first, second]
    });
    assert_eq!(reads, [Ok(data(b"old.")), Ok(data(b"new."))]);
}
