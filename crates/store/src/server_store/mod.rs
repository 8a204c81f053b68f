//! The state of a real server: in memory, and on disk if it has a directory.

mod cleaning;
mod config;
mod disk;
mod unneeded;

pub use config::{StoreConfig, Sync};

use crate::{
    Directory, Identity, MemoryStore, StoreError, Synchronization, data::piece_of, files,
    head::FileKind,
};
use disk::Disk;
use futago_base::{
    Batch, ChunkId, Key, Moment, Payload, Space, Store, Time, Value, View, data::Extents,
    record::Sort,
};
use std::sync::Arc;

/// The store of a real server: memory and, if it has a directory, a log of all changes, also of
/// those of records that need no durability, and files of data. A server that ends and comes back
/// goes on with the sessions, leases and locks that it had.
///
/// Without a directory, all records and data are in memory. With one, data that is on the disk
/// leaves the memory when there is too much of it.
#[derive(Debug)]
pub struct ServerStore {
    memory: MemoryStore,
    disk: Option<Disk>,
}

/// The findings in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The owner of the store. Its life is the one that began with an empty store.
    pub identity: Identity,
    /// The entries of the log.
    pub entries: u64,
    /// The time of the latest decision; zero without entries.
    pub decided: Moment,
    /// Whether later entries, which clients may have seen, may be lost.
    pub may_have_lost: bool,
}

/// Data of a chunk on the disk, which is read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlace {
    /// The chunk that has all of it or a part.
    pub chunk: ChunkId,
    /// The name of its file.
    pub file: String,
    /// Its first byte there.
    pub at: u64,
    /// Its length, in bytes.
    pub bytes: u64,
}

impl DataPlace {
    fn of(chunk: ChunkId, payload: &Payload) -> Option<Self> {
        let name = piece_of(payload)?.0.name();
        Some(Self {
            chunk,
            file: files::name(FileKind::Data, name.file),
            at: name.at,
            bytes: u64::from(name.bytes),
        })
    }
}

impl Recovered {
    /// Nothing was found.
    const fn nothing(identity: Identity) -> Self {
        let decided = Moment {
            steady: Time(0),
            stamp: Time(0),
        };
        Self {
            identity,
            entries: 0,
            decided,
            may_have_lost: false,
        }
    }
}

impl ServerStore {
    /// An empty store for about `memory_bytes` of memory, which ends with the process.
    pub const fn in_memory(identity: Identity, memory_bytes: u64) -> (Self, Recovered) {
        let store = Self {
            memory: MemoryStore::new(memory_bytes),
            disk: None,
        };
        (store, Recovered::nothing(identity))
    }

    /// Opens the store of a server in a directory, or begins one with this identity.
    ///
    /// # Errors
    /// If it cannot be read: see [`StoreError`].
    pub fn on_disk(
        directory: Arc<dyn Directory>,
        identity: Identity,
        config: StoreConfig,
    ) -> Result<(Self, Recovered), StoreError> {
        let mut memory = MemoryStore::new(config.memory_bytes);
        let (disk, recovered) = Disk::open(directory, identity, config, &mut memory)?;
        let disk = Some(disk);
        Ok((Self { memory, disk }, recovered))
    }

    /// The records and data.
    pub const fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    /// The records and data, without the disk.
    pub fn into_memory(self) -> MemoryStore {
        self.memory
    }

    /// The size of the log, in bytes, if there is one.
    pub fn log_bytes(&self) -> Option<u64> {
        self.disk.as_ref().map(Disk::log_bytes)
    }

    /// The size of the files of data, in bytes, if there is a disk.
    pub fn data_file_bytes(&self) -> Option<u64> {
        self.disk.as_ref().map(Disk::data_file_bytes)
    }

    /// The bytes of data on the disk that are in memory, too.
    pub fn cached_bytes(&self) -> u64 {
        self.disk.as_ref().map_or(0, Disk::cached_bytes)
    }

    /// The data on the disk that chunks have.
    pub fn data_places(&self) -> Vec<DataPlace> {
        let chunks = self.memory.chunks();
        let places = chunks.flat_map(|(chunk, extents)| {
            let payloads = extents.read(0, extents.end()).into_iter();
            payloads.filter_map(move |(_, payload)| DataPlace::of(chunk, &payload))
        });
        places.collect()
    }

    /// Whether something waits for the next synchronization.
    pub fn wants_synchronization(&self) -> bool {
        self.disk.as_ref().is_some_and(Disk::has_unneeded)
    }

    /// Begins to synchronize all batches, unless they are, or this is under way. The caller runs
    /// the work, and hands it to [`ServerStore::end_synchronization`] if it has succeeded.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn begin_synchronization(&mut self) -> Result<Option<Synchronization>, StoreError> {
        let disk = self.disk.as_mut();
        disk.map_or(Ok(None), Disk::begin_synchronization)
    }

    /// Notes that a synchronization has succeeded.
    pub fn end_synchronization(&mut self, done: &Synchronization) {
        if let Some(disk) = &mut self.disk {
            disk.end_synchronization(done);
        }
    }

    /// Synchronizes everything, so that the store is whole whatever happens to the system.
    ///
    /// # Errors
    /// Those of writing.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.disk.as_mut().map_or(Ok(()), Disk::close)
    }

    /// The first failures of reading data.
    pub fn read_failures(&self) -> Vec<String> {
        let failures = self.disk.as_ref().map(Disk::read_failures);
        failures.unwrap_or_default()
    }
}

impl Store for ServerStore {
    type Error = StoreError;

    fn commit(&mut self, batch: Batch, decided: Moment) {
        match &mut self.disk {
            Some(disk) => disk.commit(batch, decided, &mut self.memory),
            None => self.memory.apply(batch),
        }
    }

    fn persist(&mut self) -> Result<(), StoreError> {
        let memory = &mut self.memory;
        let disk = self.disk.as_mut();
        disk.map_or(Ok(()), |disk| disk.persist(memory))
    }

    fn position(&self) -> u64 {
        self.disk.as_ref().map_or(0, Disk::position)
    }

    fn durable(&self) -> u64 {
        self.disk.as_ref().map_or(0, Disk::durable)
    }

    fn confirms_durable(&self) -> bool {
        self.disk.as_ref().is_some_and(Disk::confirms_durable)
    }

    fn take_unreadable(&mut self) -> bool {
        self.disk.as_ref().is_some_and(Disk::take_failed)
    }
}

impl View for ServerStore {
    fn get(&self, key: &Key) -> Option<&Value> {
        self.memory.get(key)
    }

    fn range(&self, from: Key, to: Key) -> impl Iterator<Item = (&Key, &Value)> {
        self.memory.range(from, to)
    }

    fn has_any(&self, sort: Sort) -> bool {
        self.memory.has_any(sort)
    }

    fn data(&self, chunk: ChunkId) -> Option<&Extents> {
        self.memory.data(chunk)
    }

    fn space(&self) -> Space {
        let space = self.memory.space();
        self.disk
            .as_ref()
            .map_or(space, |disk| disk.space(&self.memory))
    }
}
