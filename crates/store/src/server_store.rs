//! The state of a real server: in memory, and every change of it in a log on disk if it has one.

use crate::{
    MemoryStore,
    log::{Identity, Log, LogConfig, LogError},
};
use futago_base::{
    Batch, ChunkId, DataChange, Key, Moment, Space, Store, Time, Value, View, data::Extents,
    overlay::RECORD_BYTES, record::Sort,
};
use std::path::Path;

/// While the log is shortened, so many bytes are appended again for each new one.
const REPEATED_PER_NEW: u64 = 4;
/// The least bytes that are appended again at a time.
const REPEATED_MIN: u64 = 64 << 10;

/// The store of a real server: memory and, if it has a directory, a log of all changes, also of
/// those of records that need no durability. A server that ends and comes back goes on with the
/// sessions, leases and locks that it had.
#[derive(Debug)]
pub struct ServerStore {
    memory: MemoryStore,
    logged: Option<Logged>,
}

/// A log, which is shortened without a pause: while batches come, all records and data are appended
/// again, a little at a time. When that has happened once for all of them, what the log had before
/// is not needed any more.
#[derive(Debug)]
struct Logged {
    log: Log,
    /// How far the state was appended again.
    repetition: Option<Repetition>,
    /// The bytes of new batches since the last [`Store::persist`].
    new_bytes: u64,
    /// The time of the latest decision.
    decided: Moment,
}

/// All state is appended to the log again.
#[derive(Debug)]
struct Repetition {
    /// Its first entry.
    since: u64,
    next: Next,
}

/// The next part.
#[derive(Debug)]
enum Next {
    /// The records after this one, or all.
    Records(Option<Key>),
    /// The chunks after this one, or all.
    Chunks(Option<ChunkId>),
    /// Nothing.
    End,
}

/// The findings in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The owner of the log. Its life is the one that began with an empty store.
    pub identity: Identity,
    /// The entries.
    pub entries: u64,
    /// The time of the latest decision; zero without entries.
    pub decided: Moment,
}

impl ServerStore {
    /// An empty store for about `memory_bytes` of memory, which ends with the process.
    pub const fn in_memory(identity: Identity, memory_bytes: u64) -> (Self, Recovered) {
        let store = Self {
            memory: MemoryStore::new(memory_bytes),
            logged: None,
        };
        (store, Recovered::of(identity))
    }

    /// Opens the store of a server in a directory, or begins one with this identity.
    ///
    /// # Errors
    /// If the log cannot be read: see [`LogError`].
    pub fn on_disk(
        directory: &Path,
        identity: Identity,
        memory_bytes: u64,
        config: LogConfig,
    ) -> Result<(Self, Recovered), LogError> {
        let mut memory = MemoryStore::new(memory_bytes);
        let mut recovered = Recovered::of(identity);
        let log = Log::open(directory, identity, config, |entry| {
            recovered.entries += 1;
            recovered.decided = entry.at;
            memory.apply(entry.batch);
        })?;
        recovered.identity = *log.identity();
        let logged = Logged {
            log,
            repetition: None,
            new_bytes: 0,
            decided: recovered.decided,
        };
        let logged = Some(logged);
        Ok((Self { memory, logged }, recovered))
    }

    /// The records and data.
    pub const fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    /// The size of the log, in bytes, if there is one.
    pub fn log_bytes(&self) -> Option<u64> {
        self.logged.as_ref().map(|logged| logged.log.bytes())
    }
}

impl Recovered {
    /// Nothing was found.
    const fn of(identity: Identity) -> Self {
        let decided = Moment {
            steady: Time(0),
            stamp: Time(0),
        };
        Self {
            identity,
            entries: 0,
            decided,
        }
    }
}

impl Logged {
    fn append(&mut self, batch: &Batch, decided: Moment) {
        self.decided = decided;
        if !batch.is_empty() {
            let before = self.log.bytes();
            self.log.append(batch, decided);
            self.new_bytes += self.log.bytes() - before;
        }
    }

    fn persist(&mut self, memory: &MemoryStore) -> Result<(), LogError> {
        if self.new_bytes == 0 {
            return Ok(());
        }
        self.repeat(memory);
        self.new_bytes = 0;
        self.log.write()?;
        self.shorten()
    }

    /// Appends state again if the log is too large.
    fn repeat(&mut self, memory: &MemoryStore) {
        let limit = memory.space().used_bytes * 2 + self.log.config().slack_bytes;
        let is_large = self.log.bytes() > limit;
        if self.repetition.is_none() && is_large {
            self.repetition = Some(Repetition {
                since: self.log.position() + 1,
                next: Next::Records(None),
            });
        }
        let budget = REPEATED_MIN.max(self.new_bytes * REPEATED_PER_NEW);
        if let Some(repetition) = &mut self.repetition {
            let batch = repetition.next.take(memory, budget);
            self.log.append(&batch, self.decided);
        }
    }

    /// Removes what the log does not need after a whole repetition.
    fn shorten(&mut self) -> Result<(), LogError> {
        let done = self.repetition.take_if(|it| matches!(it.next, Next::End));
        done.map_or(Ok(()), |done| self.log.forget_before(done.since))
    }
}

impl Next {
    /// A batch that sets about the next `budget` bytes to what they are.
    fn take(&mut self, memory: &MemoryStore, budget: u64) -> Batch {
        match self {
            Self::Records(after) => {
                let records = memory.records_after(after.as_ref());
                let records = within(budget, records, |(_, value)| record_bytes(value));
                let next = records.last().map(|(key, _)| (*key).clone());
                *self = match next {
                    Some(last) => Self::Records(Some(last)),
                    None => Self::Chunks(None),
                };
                let put = |(key, value): (&Key, &Value)| (key.clone(), Some(value.clone()));
                Batch {
                    records: records.into_iter().map(put).collect(),
                    ..Batch::default()
                }
            }
            Self::Chunks(after) => {
                let chunks = memory.chunks_after(*after);
                let chunks = within(budget, chunks, |(_, data)| data.footprint_bytes() as u64);
                *self = match chunks.last() {
                    Some(&(last, _)) => Self::Chunks(Some(last)),
                    None => Self::End,
                };
                Batch {
                    data: chunks.into_iter().flat_map(writes).collect(),
                    ..Batch::default()
                }
            }
            Self::End => Batch::default(),
        }
    }
}

/// The first elements, up to the one with which they have `budget` bytes.
fn within<T>(budget: u64, all: impl Iterator<Item = T>, bytes: impl Fn(&T) -> u64) -> Vec<T> {
    let mut left = budget;
    let fits = |element: &T| {
        let fits = left > 0;
        left = left.saturating_sub(bytes(element).max(1));
        fits
    };
    all.take_while(fits).collect()
}

fn record_bytes(value: &Value) -> u64 {
    RECORD_BYTES + value.heap_bytes() as u64
}

/// The writes that make the data of a chunk.
fn writes((chunk, extents): (ChunkId, &Extents)) -> Vec<DataChange> {
    let pieces = extents.read(0, extents.end()).into_iter();
    let write = |(offset, payload)| DataChange::Write {
        chunk,
        offset,
        payload,
    };
    pieces.map(write).collect()
}

impl Store for ServerStore {
    type Error = LogError;

    fn commit(&mut self, batch: Batch, decided: Moment) {
        if let Some(logged) = &mut self.logged {
            logged.append(&batch, decided);
        }
        self.memory.apply(batch);
    }

    fn persist(&mut self) -> Result<(), LogError> {
        let memory = &self.memory;
        let logged = self.logged.as_mut();
        logged.map_or(Ok(()), |logged| logged.persist(memory))
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
        self.memory.space()
    }
}
