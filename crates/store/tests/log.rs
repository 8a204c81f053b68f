//! The store with a log: what is opened again is what was written, or nothing is opened.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod batches;

use batches::batch;
use bytes::Bytes;
use futago_base::{
    Batch, ChunkId, DataChange, Incarnation, Moment, Payload, ServerId, Store, Time, Value,
    record::Key,
};
use futago_store::{
    Identity, Recovered, ServerStore, StoreConfig, StoreError, Sync, SystemDirectory,
};
use proptest::prelude::*;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

const IDENTITY: Identity = Identity {
    cluster: 0x0123_4567_89ab_cdef,
    server: ServerId(2),
    incarnation: Incarnation(77),
};
/// A file takes a few batches.
const SMALL: StoreConfig = StoreConfig {
    memory_bytes: 1 << 30,
    sharing: 1,
    sync: Sync::Process,
    file_bytes: 2 << 10,
    slack_bytes: 4 << 10,
    direct_bytes: 40,
};

/// The size of a segment's head, in bytes.
const HEAD_BYTES: u64 = 48;

fn open_as(directory: &Path, identity: Identity) -> Result<(ServerStore, Recovered), StoreError> {
    ServerStore::on_disk(Arc::new(SystemDirectory::open(directory)?), identity, SMALL)
}

fn open(directory: &Path) -> ServerStore {
    open_as(directory, IDENTITY).unwrap().0
}

fn error(directory: &Path) -> String {
    let error = open_as(directory, IDENTITY).unwrap_err().to_string();
    error.replace(&*directory.to_string_lossy(), "DIR")
}

fn at(number: u64) -> Moment {
    Moment {
        steady: Time(number),
        stamp: Time(1000 + number),
    }
}

/// The state, as text.
fn state(store: &ServerStore) -> String {
    let memory = store.memory();
    let records: Vec<_> = memory.records().collect();
    let data: Vec<_> = memory
        .chunks()
        .map(|(chunk, data)| {
            let bytes = data.read(0, u32::MAX).into_iter();
            let bytes: Vec<_> = bytes
                .flat_map(|(offset, payload)| (offset..).zip(payload.bytes()))
                .collect();
            (chunk, bytes)
        })
        .collect();
    format!("{records:?} {data:?} {:?}", memory.chunks().count())
}

/// The segments, the oldest first.
fn segments(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut segments: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .collect();
    segments.sort();
    segments
}

fn number(value: u64) -> Batch {
    Batch {
        records: vec![(
            Key::Allocator(futago_base::Partition(1)),
            Some(Value::Number(value)),
        )],
        ..Batch::default()
    }
}

/// A log of `count` batches, which is not shortened.
fn numbers(directory: &Path, count: u64) {
    let config = StoreConfig {
        slack_bytes: u64::MAX / 2,
        ..SMALL
    };
    let directory = Arc::new(SystemDirectory::open(directory).unwrap());
    let mut store = ServerStore::on_disk(directory, IDENTITY, config).unwrap().0;
    for value in 0..count {
        store.commit(number(value), at(value));
        store.persist().unwrap();
    }
}

proptest! {
    #[test]
    fn what_was_persisted_is_there_again(
        batches in prop::collection::vec((batch(), 0..4_u8), 0..40),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let mut store = open(scratch.path());
        for (number, (batch, then)) in batches.into_iter().enumerate() {
            store.commit(batch, at(number as u64));
            if then > 0 {
                store.persist().unwrap();
            }
            if then == 3 {
                let before = state(&store);
                drop(store);
                store = open(scratch.path());
                prop_assert_eq!(state(&store), before);
            }
        }
    }

    /// The system may have written less than all of what was not persisted, and in an emergency
    /// even less. The opened state is that after some batch.
    #[test]
    fn a_log_that_is_cut_off_anywhere_ends_with_a_whole_batch(
        batches in prop::collection::vec(batch(), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let mut store = open(scratch.path());
        let mut states = vec![state(&store)];
        for (number, batch) in batches.into_iter().enumerate() {
            store.commit(batch, at(number as u64));
            store.persist().unwrap();
            states.push(state(&store));
        }
        drop(store);
        let mut segments = segments(scratch.path());
        let last = segments.pop().unwrap();
        let length = fs::metadata(&last).unwrap().len();
        // The head of the first one is durable before there are entries.
        let least = if segments.is_empty() { HEAD_BYTES } else { 0 };
        let left = least + cut.index((length - least) as usize + 1) as u64;
        fs::File::options().write(true).open(&last).unwrap().set_len(left).unwrap();
        let mut store = open(scratch.path());
        let found = state(&store);
        prop_assert!(states.contains(&found), "cut at {} of {}", left, length);
        // It goes on from there.
        store.commit(number(9), at(99));
        store.persist().unwrap();
        let before = state(&store);
        drop(store);
        prop_assert_eq!(state(&open(scratch.path())), before);
    }

    #[test]
    fn a_changed_byte_is_noticed_unless_it_is_in_the_last_entry(
        batches in prop::collection::vec(batch(), 1..12),
        place in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let mut store = open(scratch.path());
        let mut states = Vec::new();
        for (number, batch) in batches.into_iter().enumerate() {
            states.push(state(&store));
            store.commit(batch, at(number as u64));
            store.persist().unwrap();
        }
        drop(store);
        let segments = segments(scratch.path());
        let damaged = &segments[place.index(segments.len())];
        let mut bytes = fs::read(damaged).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        fs::write(damaged, bytes).unwrap();
        if let Ok((store, _)) = open_as(scratch.path(), IDENTITY) {
            prop_assert!(states.contains(&state(&store)));
            prop_assert_eq!(Some(damaged), segments.last());
        }
    }
}

#[test]
fn the_time_of_the_latest_decision_and_the_life_are_known_again() {
    let scratch = tempfile::tempdir().unwrap();
    numbers(scratch.path(), 3);
    let drawn = Identity {
        incarnation: Incarnation(5),
        ..IDENTITY
    };
    let (store, recovered) = open_as(scratch.path(), drawn).unwrap();
    drop(store);
    let expected = Recovered {
        identity: IDENTITY,
        entries: 3,
        decided: at(2),
        may_have_lost: false,
    };
    assert_eq!(recovered, expected);
}

#[test]
fn a_log_stays_in_proportion_to_the_state() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = open(scratch.path());
    let chunk = |index| ChunkId {
        file: futago_base::FileId::ROOT,
        index,
    };
    let write = |index, byte| Batch {
        data: vec![DataChange::Write {
            chunk: chunk(index),
            offset: 0,
            payload: Payload::from(Bytes::from(vec![byte; 500])),
        }],
        ..number(index)
    };
    let mut most = 0;
    for round in 0..2000_u64 {
        store.commit(write(round % 20, round as u8), at(round));
        store.persist().unwrap();
        most = most.max(store.log_bytes().unwrap());
    }
    // The state has 20 chunks of 500 bytes, and what was written has a hundred times as many.
    assert!(most < 150 << 10, "{most}");
    let before = state(&store);
    drop(store);
    assert_eq!(state(&open(scratch.path())), before);
}

#[test]
fn another_server_or_version_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    numbers(scratch.path(), 1);
    let other = Identity {
        server: ServerId(3),
        ..IDENTITY
    };
    let error_of_other = open_as(scratch.path(), other).unwrap_err();
    assert!(
        matches!(error_of_other, StoreError::Foreign { .. }),
        "{error_of_other}"
    );
    let segment = segments(scratch.path()).pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[8] = 9;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(
        error(scratch.path()),
        "DIR/00000000000000000001.log has version 9 of the format, this program reads 1"
    );
}

#[test]
fn a_missing_segment_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    numbers(scratch.path(), 100);
    let segments = segments(scratch.path());
    assert!(segments.len() > 2);
    fs::remove_file(&segments[1]).unwrap();
    let text = error(scratch.path());
    assert!(text.starts_with("the file before DIR/"), "{text}");
}

#[test]
fn one_process_at_a_time_has_a_log() {
    let scratch = tempfile::tempdir().unwrap();
    let store = open(scratch.path());
    assert_eq!(error(scratch.path()), "DIR is in use by another process");
    drop(store);
    open(scratch.path());
}

/// A file of the file system may hold a log, also a copy of this one's.
#[test]
fn entries_of_other_logs_within_data_are_no_entries() {
    let scratch = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let life = Identity {
        incarnation: Incarnation(78),
        ..IDENTITY
    };
    let mut copied = open_as(other.path(), life).unwrap().0;
    copied.commit(number(1), at(1));
    copied.persist().unwrap();
    let bytes = fs::read(segments(other.path()).pop().unwrap()).unwrap();
    let mut store = open(scratch.path());
    store.commit(number(5), at(5));
    store.persist().unwrap();
    let before = state(&store);
    let chunk = ChunkId {
        file: futago_base::FileId::ROOT,
        index: 0,
    };
    let payload = Payload::from(Bytes::from(bytes));
    let write = DataChange::Write {
        chunk,
        offset: 0,
        payload,
    };
    store.commit(
        Batch {
            data: vec![write],
            ..Batch::default()
        },
        at(6),
    );
    store.persist().unwrap();
    drop(store);
    let segment = segments(scratch.path()).pop().unwrap();
    let file = fs::File::options().write(true).open(&segment).unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    assert_eq!(state(&open(scratch.path())), before);
}

/// The bytes are a promise: a later version must read them, or say that it does not.
#[test]
fn the_bytes_of_a_log_do_not_change() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = open(scratch.path());
    let chunk = ChunkId {
        file: batches::file(6),
        index: 3,
    };
    let inode = batches::inode(b"target");
    let data = vec![
        DataChange::Write {
            chunk,
            offset: 8,
            payload: Payload::from(Bytes::from_static(b"data")),
        },
        DataChange::Punch {
            chunk,
            from: 9,
            to: 10,
        },
    ];
    let records = vec![
        (Key::Inode(batches::file(6)), Some(Value::from(inode))),
        (Key::Allocator(futago_base::Partition(4)), None),
    ];
    store.commit(Batch { records, data }, at(4));
    store.commit(number(7), at(5));
    let data = vec![DataChange::Write {
        chunk,
        offset: 20,
        payload: Payload::from(Bytes::from(vec![9; 100])),
    }];
    let records = Vec::new();
    store.commit(Batch { records, data }, at(6));
    store.persist().unwrap();
    let bytes = fs::read(segments(scratch.path()).pop().unwrap()).unwrap();
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let lines: Vec<String> = hex.chunks(32).map(|line| line.join("")).collect();
    let text = lines.join("\n") + "\n";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/segment.hex");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(golden).unwrap());
}

/// A kind that is added before others gives them numbers that have another meaning in older files.
#[test]
fn the_numbers_of_kinds_do_not_change() {
    let keys = [
        (Key::Inode(batches::file(6)), 1),
        (Key::EndedLives(ServerId(0)), 29),
        (Key::RestorerSeen, 37),
    ];
    for (key, number) in keys {
        assert_eq!(postcard::to_allocvec(&key).unwrap()[0], number);
    }
    let values = [
        (Value::Number(0), 0),
        (Value::Lives(Vec::new()), 15),
        (Value::Present(()), 19),
        (Value::from(batches::inode(b"target")), 20),
    ];
    for (value, number) in values {
        assert_eq!(postcard::to_allocvec(&value).unwrap()[0], number);
    }
}
