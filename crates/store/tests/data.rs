//! Data on disk: there may be more of it than memory, and damaged data is never served.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bytes::Bytes;
use futago_base::{
    Batch, ChunkId, DataChange, FileId, Incarnation, Moment, Payload, ServerId, Store, Time, View,
};
use futago_store::{Identity, ServerStore, StoreConfig, StoreError, Sync, SystemDirectory};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

const IDENTITY: Identity = Identity {
    cluster: 5,
    server: ServerId(1),
    incarnation: Incarnation(77),
};
const MEMORY_BYTES: u64 = 1 << 20;
const CONFIG: StoreConfig = StoreConfig {
    memory_bytes: MEMORY_BYTES,
    sharing: 1,
    sync: Sync::Process,
    file_bytes: 256 << 10,
    slack_bytes: 512 << 10,
    direct_bytes: 16 << 10,
};
const CHUNK_BYTES: usize = 100_000;

struct Room {
    directory: TempDir,
    store: ServerStore,
    step: u64,
}

fn open(directory: &Path) -> Result<ServerStore, StoreError> {
    Ok(ServerStore::on_disk(
        Arc::new(SystemDirectory::open(directory)?),
        IDENTITY,
        CONFIG,
    )?
    .0)
}

fn chunk(index: u64) -> ChunkId {
    let file = FileId::ROOT;
    ChunkId { file, index }
}

/// The data of a chunk in a round: no two 64 KiB are equal.
fn data(index: u64, round: u64, length: usize) -> Bytes {
    let numbers =
        (0..length as u64 / 8 + 1).map(|at| (at << 32 | index << 8 | round).to_le_bytes());
    let bytes: Vec<u8> = numbers.flatten().collect();
    Bytes::from(bytes).slice(..length)
}

impl Room {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut store = open(directory.path()).unwrap();
        store.commit(Batch::default(), at(0));
        Self {
            directory,
            store,
            step: 0,
        }
    }

    fn commit(&mut self, change: DataChange) {
        self.step += 1;
        let data = vec![change];
        let batch = Batch {
            data,
            ..Batch::default()
        };
        self.store.commit(batch, at(self.step));
        self.store.persist().unwrap();
        // Files are removed once nothing durable needs them.
        while self.store.wants_synchronization() {
            let synchronization = self.store.begin_synchronization().unwrap().unwrap();
            synchronization.run().unwrap();
            self.store.end_synchronization(&synchronization);
        }
    }

    fn write(&mut self, index: u64, offset: u32, bytes: Bytes) {
        self.commit(DataChange::Write {
            chunk: chunk(index),
            offset,
            payload: Payload::from(bytes),
        });
    }

    fn remove(&mut self, index: u64) {
        self.commit(DataChange::Punch {
            chunk: chunk(index),
            from: 0,
            to: u32::MAX,
        });
    }

    fn reopen(self) -> Self {
        drop(self.store);
        Self {
            store: open(self.directory.path()).unwrap(),
            ..self
        }
    }

    fn read(&self, index: u64) -> Bytes {
        let extents = self.store.data(chunk(index)).unwrap();
        let pieces = extents.read(0, u32::MAX).into_iter();
        let bytes: Vec<u8> = pieces.flat_map(|(_, payload)| payload.bytes()).collect();
        bytes.into()
    }

    fn files(&self) -> Vec<PathBuf> {
        files(self.directory.path(), "data")
    }

    fn file_bytes(&self) -> u64 {
        self.store.data_file_bytes().unwrap()
    }
}

fn at(number: u64) -> Moment {
    Moment {
        steady: Time(number),
        stamp: Time(number),
    }
}

fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|found| found == end))
        .collect();
    files.sort();
    files
}

#[test]
fn a_directory_whose_synchronization_has_failed_is_used_with_care() {
    let mut room = Room::new();
    room.write(1, 0, data(1, 1, CHUNK_BYTES));
    let note = room.directory.path().join("process-doubted");
    fs::write(&note, []).unwrap();
    drop(room.store);
    let directory = Arc::new(SystemDirectory::open(room.directory.path()).unwrap());
    let (store, recovered) = ServerStore::on_disk(directory, IDENTITY, CONFIG).unwrap();
    assert!(recovered.may_have_lost);
    let mut room = Room { store, ..room };
    assert_eq!(room.read(1), data(1, 1, CHUNK_BYTES));
    room.write(2, 0, data(2, 1, CHUNK_BYTES));
    assert!(!note.exists());
}

#[test]
fn there_may_be_more_data_than_memory() {
    let mut room = Room::new();
    for index in 0..50 {
        room.write(index, 0, data(index, 0, CHUNK_BYTES));
        assert!(room.store.cached_bytes() <= MEMORY_BYTES);
    }
    let check = |room: &Room| {
        for index in (0..50).rev() {
            assert_eq!(room.read(index), data(index, 0, CHUNK_BYTES), "{index}");
        }
    };
    check(&room);
    room.store.persist().unwrap();
    assert!(room.store.cached_bytes() <= MEMORY_BYTES);
    let room = room.reopen();
    assert_eq!(room.store.cached_bytes(), 0);
    check(&room);
}

/// Small data is in the log and in memory first.
#[test]
fn small_data_leaves_the_memory_too() {
    let mut room = Room::new();
    for index in 0..1500 {
        room.write(index, 0, data(index, 0, 2000));
    }
    let held = room.store.memory().data_bytes() - room.file_bytes();
    assert!(held < MEMORY_BYTES / 2, "{held}");
    let room = room.reopen();
    for index in 0..1500 {
        assert_eq!(room.read(index), data(index, 0, 2000), "{index}");
    }
}

#[test]
fn files_stay_in_proportion_to_the_data_in_them() {
    let mut room = Room::new();
    let mut most = 0;
    for round in 0..100_u64 {
        for index in 0..10 {
            // A part of each file stays in use for long.
            if index != round % 10 {
                room.write(index, 0, data(index, round, CHUNK_BYTES));
            }
        }
        most = most.max(room.file_bytes());
    }
    assert!(most < 4 << 20, "{most}");
    let on_disk = |room: &Room| -> u64 {
        let sizes = room.files().into_iter();
        sizes.map(|path| path.metadata().unwrap().len()).sum()
    };
    assert_eq!(on_disk(&room), room.file_bytes());
    let room = room.reopen();
    for index in 0..10 {
        let round = if index == 9 { 98 } else { 99 };
        assert_eq!(room.read(index), data(index, round, CHUNK_BYTES), "{index}");
    }
}

#[test]
fn removed_data_frees_its_files() {
    let mut room = Room::new();
    (0..20).for_each(|index| room.write(index, 0, data(index, 0, CHUNK_BYTES)));
    assert!(room.files().len() > 5);
    (0..20).for_each(|index| room.remove(index));
    assert!(room.files().len() <= 1);
    room.write(3, 0, data(3, 1, CHUNK_BYTES));
    assert_eq!(room.reopen().read(3), data(3, 1, CHUNK_BYTES));
}

#[test]
fn a_part_of_a_piece_stays_when_the_rest_is_replaced() {
    let mut room = Room::new();
    room.write(0, 0, data(0, 0, CHUNK_BYTES));
    room.write(0, 40_000, data(1, 1, 20_000));
    room.write(0, 50_000, data(2, 2, 10));
    let mut expected = data(0, 0, CHUNK_BYTES).to_vec();
    expected[40_000..60_000].copy_from_slice(&data(1, 1, 20_000));
    expected[50_000..50_010].copy_from_slice(&data(2, 2, 10));
    assert_eq!(room.read(0), expected);
    assert_eq!(room.reopen().read(0), expected);
}

/// A store with two chunks, and the file that has both. A byte of the first one has changed.
fn damaged() -> (Room, PathBuf) {
    let mut room = Room::new();
    room.write(0, 0, data(0, 0, CHUNK_BYTES));
    room.write(1, 0, data(1, 0, CHUNK_BYTES));
    let path = room.files().remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[70_000] ^= 1;
    fs::write(&path, bytes).unwrap();
    (room.reopen(), path)
}

#[test]
fn damaged_data_is_named_and_not_served() {
    let (mut room, path) = damaged();
    let part = |room: &Room, from, to| {
        let extents = room.store.data(chunk(0)).unwrap();
        extents.read(from, to)[0].1.bytes()
    };
    assert_eq!(part(&room, 0, 1000), data(0, 0, CHUNK_BYTES).slice(..1000));
    assert!(!room.store.take_unreadable());
    assert!(part(&room, 80_000, 80_001).iter().all(|&byte| byte == 0));
    assert!(room.store.take_unreadable());
    assert!(!room.store.take_unreadable());
    let failures = room.store.read_failures();
    let place = path.display();
    let text = format!("{place} is damaged at byte 65584: data of chunk 0 of file 0:1 is lost");
    assert_eq!(failures, [text]);
    assert_eq!(room.read(1), data(1, 0, CHUNK_BYTES));
}

#[test]
fn damaged_data_stays_what_it_is_when_other_data_moves() {
    let (mut room, path) = damaged();
    for round in 0..60 {
        room.write(1 + round % 3, 0, data(1, round, CHUNK_BYTES));
    }
    let mut room = room.reopen();
    drop(room.read(0));
    assert!(room.store.take_unreadable());
    assert!(path.exists());
}

#[test]
fn missing_files_are_named() {
    let mut room = Room::new();
    room.write(0, 0, data(0, 0, CHUNK_BYTES));
    let path = room.files().remove(0);
    let Room {
        directory, store, ..
    } = room;
    drop(store);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let error = open(directory.path()).unwrap_err().to_string();
    let text = "is missing: it has 100000 bytes of data that files have";
    assert_eq!(error, format!("{} {text}", path.display()));
    fs::write(&path, bytes).unwrap();
    for log in files(directory.path(), "log") {
        fs::remove_file(log).unwrap();
    }
    let error = open(directory.path()).unwrap_err().to_string();
    let text = "has data of a server, and not its log";
    assert_eq!(error, format!("{} {text}", directory.path().display()));
}
