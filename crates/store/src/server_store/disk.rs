//! The disk of a store: the log, the files of data, and the room for both.

use super::{Recovered, StoreConfig, Sync, cleaning::Cleaning};
use crate::{
    Identity, MemoryStore, StoreError, data::DataFiles, directory::Directory, files::Files,
    log::Log,
};
use futago_base::{Batch, DataChange, Moment, Space, View};
use std::{collections::BTreeSet, sync::Arc};

/// Data in the log alone takes at most one part in this many of the memory.
const UNSETTLED_SHARE: u64 = 4;
/// The cache of data has at least one part in this many of the memory.
const CACHE_SHARE: u64 = 16;
/// So many bytes are appended again for each new one.
const REPEATED_PER_NEW: u64 = 4;
/// The least bytes that are appended again at a time.
const REPEATED_MIN: u64 = 64 << 10;
/// The same if the disk is nearly full.
const TIGHT_MIN: u64 = 1 << 20;
/// If the disk is nearly full, one part in this many of the slack may be unused.
const TIGHT_SHARE: u64 = 8;
/// A file of data is cleaned if at most one part in this many is used.
const LITTLE: u64 = 2;

/// The disk of a store. While batches come, it is cleaned without a pause: all records and the
/// names of all data are appended to the log again, a little at a time, and data moves out of files
/// of which little is used. When that has happened once for all of them, older files are not needed
/// any more.
#[derive(Debug)]
pub struct Disk {
    files: Files,
    log: Log,
    data: DataFiles,
    config: StoreConfig,
    cleaning: Option<Cleaning>,
    /// The bytes that came since the last [`Disk::persist`].
    new_bytes: u64,
    /// The time of the latest decision.
    decided: Moment,
}

impl Disk {
    /// Opens the store in a directory, or begins one with this identity, and fills `memory`.
    pub fn open(
        directory: Arc<dyn Directory>,
        identity: Identity,
        config: StoreConfig,
        memory: &mut MemoryStore,
    ) -> Result<(Self, Recovered), StoreError> {
        let mut files = Files::new(directory, config.sync == Sync::Always)?;
        let owner = owner(&files, identity)?;
        let identity = owner.unwrap_or(identity);
        let mut data = DataFiles::open(&files, identity, config.file_bytes)?;
        if owner.is_none() && !data.is_empty() {
            return Err(StoreError::MissingLog(files.directory().path("")));
        }
        let mut recovered = Recovered::nothing(identity);
        let log = Log::open(&mut files, identity, config.file_bytes, |entry| {
            recovered.entries += 1;
            recovered.decided = entry.at;
            apply(entry.batch(&mut data)?, memory, &mut data);
            Some(())
        })?;
        data.finish_opening(&mut files)?;
        let disk = Self {
            files,
            log,
            data,
            config,
            cleaning: None,
            new_bytes: 0,
            decided: recovered.decided,
        };
        Ok((disk, recovered))
    }

    /// The size of the log, in bytes.
    pub fn log_bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// The size of the files of data, in bytes.
    pub const fn data_file_bytes(&self) -> u64 {
        self.data.total_bytes()
    }

    /// The bytes of data on the disk that are in memory, too.
    pub fn cached_bytes(&self) -> u64 {
        self.data.cached_bytes()
    }

    /// The first failures of reading data.
    pub fn read_failures(&self) -> Vec<String> {
        self.data.failures()
    }

    /// Whether reading has failed since the last call.
    pub fn take_failed(&self) -> bool {
        self.data.take_failed()
    }

    /// Applies a batch, and appends it to the log.
    pub fn commit(&mut self, mut batch: Batch, decided: Moment, memory: &mut MemoryStore) {
        self.decided = decided;
        if batch.is_empty() {
            return;
        }
        let direct_bytes = self.config.direct_bytes;
        for change in &mut batch.data {
            if let DataChange::Write { chunk, payload, .. } = change
                && payload.len() >= direct_bytes
            {
                let bytes = std::mem::take(payload).compact().bytes();
                self.new_bytes += bytes.len() as u64;
                *payload = self.data.append(*chunk, bytes);
            }
        }
        self.append(&batch);
        apply(batch, memory, &mut self.data);
    }

    fn append(&mut self, batch: &Batch) {
        let before = self.log.bytes();
        self.log.append(batch, self.decided);
        self.new_bytes += self.log.bytes() - before;
    }

    /// Writes all that was appended: data first, then what names it.
    pub fn persist(&mut self, memory: &mut MemoryStore) -> Result<(), StoreError> {
        self.data.shrink_cache(self.cache_limit_bytes(memory));
        if self.is_tight() {
            self.files.reserve_mut().look();
        }
        if self.new_bytes > 0 || self.is_tight() && self.needs_cleaning(memory) {
            self.clean(memory);
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), StoreError> {
        self.files
            .reserve_mut()
            .note(std::mem::take(&mut self.new_bytes));
        self.data.write(&mut self.files)?;
        self.files.sync()?;
        self.log.write(&mut self.files)?;
        self.finish_cleaning()?;
        if self.data.remove_unused(&mut self.files)? {
            self.files.reserve_mut().look();
        }
        Ok(())
    }

    /// Goes on with cleaning, or begins it.
    fn clean(&mut self, memory: &mut MemoryStore) {
        let is_tight = self.is_tight();
        if is_tight && !self.has_room_for_cleaning(memory) {
            return;
        }
        if self.cleaning.is_none() && self.needs_cleaning(memory) {
            let since = self.log.position() + 1;
            self.cleaning = Some(Cleaning::new(since, self.files_to_empty()));
        }
        if let Some(cleaning) = &mut self.cleaning {
            let least = if is_tight { TIGHT_MIN } else { REPEATED_MIN };
            let budget = least.max(self.new_bytes * REPEATED_PER_NEW);
            let batch = cleaning.next(memory, &mut self.data, budget);
            self.append(&batch);
            for change in batch.data {
                self.data.count(memory.data(change.chunk()), &change);
                memory.change(change);
            }
        }
    }

    /// Data moves before its file can be removed. A disk that is nearly full has room for that of
    /// one file.
    fn files_to_empty(&self) -> BTreeSet<u64> {
        if self.is_tight() {
            self.data.least_used().into_iter().collect()
        } else {
            self.data.little_used(LITTLE)
        }
    }

    fn needs_cleaning(&self, memory: &MemoryStore) -> bool {
        let slack = self.config.slack_bytes;
        let named = self.data.used_bytes();
        let in_log = memory.space().used_bytes - named;
        let unsettled = memory.data_bytes() - named;
        let needed = if self.is_tight() {
            named + slack / TIGHT_SHARE
        } else {
            named * LITTLE + slack
        };
        self.log.bytes() > in_log * 2 + slack
            || self.data.total_bytes() > needed
            || unsettled > self.config.memory_bytes / UNSETTLED_SHARE
    }

    /// Whether the disk has room for all that cleaning writes before it removes anything.
    fn has_room_for_cleaning(&self, memory: &MemoryStore) -> bool {
        let in_log = memory.space().used_bytes - self.data.used_bytes();
        let moved = self.data.used_bytes_of(self.data.least_used());
        in_log + moved < self.files.reserve().free_bytes()
    }

    /// Whether the disk is nearly full.
    fn is_tight(&self) -> bool {
        self.files.reserve().room_bytes() < self.config.slack_bytes
    }

    /// Removes what is not needed after cleaning.
    fn finish_cleaning(&mut self) -> Result<(), StoreError> {
        let done = self.cleaning.take_if(|cleaning| cleaning.is_done());
        let files = &mut self.files;
        done.map_or(Ok(()), |done| self.log.forget_before(done.since(), files))
    }

    /// The bytes of data that may be in memory beside the records.
    fn cache_limit_bytes(&self, memory: &MemoryStore) -> u64 {
        let limit = self.config.memory_bytes;
        let left = limit.saturating_sub(memory.space().used_bytes - self.data.used_bytes());
        left.max(limit / CACHE_SHARE)
    }

    /// The occupancy: the records must fit into the memory, and all on the disk.
    pub fn space(&self, memory: &MemoryStore) -> Space {
        let space = memory.space();
        let in_memory = space.used_bytes - self.data.used_bytes();
        let room = match in_memory.checked_sub(space.limit_bytes) {
            None => self.files.reserve().room_bytes() / self.config.sharing.max(1),
            Some(_) => 0,
        };
        Space {
            limit_bytes: space.used_bytes + room.saturating_sub(self.new_bytes),
            ..space
        }
    }
}

/// The owner of the directory, if it has a log: this server, or opening fails.
fn owner(files: &Files, wanted: Identity) -> Result<Option<Identity>, StoreError> {
    let owner = Log::owner(files)?;
    match owner {
        Some(found) if (found.cluster, found.server) != (wanted.cluster, wanted.server) => {
            let path = files.directory().path("");
            Err(StoreError::foreign(&path, &found, &wanted))
        }
        owner => Ok(owner),
    }
}

/// Applies a batch, and counts which data it uses.
fn apply(batch: Batch, memory: &mut MemoryStore, data: &mut DataFiles) {
    for (key, value) in batch.records {
        memory.set(key, value);
    }
    for change in batch.data {
        data.count(memory.data(change.chunk()), &change);
        memory.change(change);
    }
}
