//! The disk of a store: the log, the files of data, and the room for both.

use super::{Recovered, StoreConfig, Sync, cleaning::Cleaning, unneeded::Unneeded};
use crate::{
    Identity, MemoryStore, StoreError, Synchronization,
    data::{DataFiles, Piece, piece_of},
    directory::Directory,
    files::Files,
    head::FileKind,
    last_use::{self, LastUse},
    log::{Entry, Log, Replayed},
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
    unneeded: Unneeded,
    is_synchronizing: bool,
    /// Whether the directory says how it is used. Losses are settled before.
    is_noted: bool,
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
        let mut files = Files::new(directory)?;
        let last_use = LastUse::of(&**files.directory())?;
        let owner = owner(&files, identity)?;
        let identity = owner.unwrap_or(identity);
        let mut data = DataFiles::open(&files, identity, config.file_bytes)?;
        if owner.is_none() && !data.is_empty() {
            return Err(StoreError::MissingLog(files.directory().path("")));
        }
        if last_use.is_doubted {
            files.write_again(FileKind::Log)?;
        }
        let mut recovered = Recovered::nothing(identity);
        let may_have_losses = last_use.may_have_losses;
        let mut written = Ok(());
        let replay = |entry: Entry, is_certain: bool| {
            let at = entry.at;
            let Some(batch) = entry.batch(&mut data) else {
                return Replayed::Unknown;
            };
            if !is_certain && !has_whole_data(&batch) {
                return Replayed::Torn;
            }
            if !is_certain && last_use.is_doubted && written.is_ok() {
                written = write_data_again(&batch);
            }
            recovered.entries += 1;
            recovered.decided = at;
            apply(batch, memory, &mut data);
            Replayed::Applied
        };
        let log = Log::open(
            &mut files,
            identity,
            config.file_bytes,
            may_have_losses,
            replay,
        )?;
        written?;
        data.check_present()?;
        recovered.may_have_lost = owner.is_some() && last_use.was_confirmed;
        if !may_have_losses {
            last_use::begin(&**files.directory(), config.sync)?;
        }
        let mut unneeded = Unneeded::default();
        unneeded.add(log.position(), FileKind::Data, data.take_unused());
        let disk = Self {
            files,
            log,
            data,
            config,
            cleaning: None,
            unneeded,
            is_synchronizing: false,
            is_noted: !may_have_losses,
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
        if self.is_tight() && self.has_unneeded() {
            self.synchronize_now()?;
        }
        if !self.is_noted {
            last_use::begin(&**self.files.directory(), self.config.sync)?;
            self.is_noted = true;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), StoreError> {
        self.files
            .reserve_mut()
            .note(std::mem::take(&mut self.new_bytes));
        self.data.write(&mut self.files)?;
        self.log.write(&mut self.files)?;
        self.finish_cleaning();
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

    /// Gives up what is not needed after cleaning.
    fn finish_cleaning(&mut self) {
        let position = self.log.position();
        let done = self.cleaning.take_if(|cleaning| cleaning.is_done());
        if let Some(done) = done {
            let taken = self.log.take_before(done.since());
            self.unneeded.add(position, FileKind::Log, taken);
        }
        let taken = self.data.take_unused();
        self.unneeded.add(position, FileKind::Data, taken);
    }

    /// The position of the latest entry.
    pub const fn position(&self) -> u64 {
        self.log.position()
    }

    /// The position of the latest entry that survives a loss of power.
    pub const fn durable(&self) -> u64 {
        self.log.durable()
    }

    /// Whether no message may leave before what it depends on is durable.
    pub fn confirms_durable(&self) -> bool {
        self.config.sync == Sync::Always
    }

    /// Whether files wait to be removed, which needs a synchronization.
    pub const fn has_unneeded(&self) -> bool {
        !self.unneeded.is_empty()
    }

    /// Begins to synchronize all that is written, if it is not and nobody does.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn begin_synchronization(&mut self) -> Result<Option<Synchronization>, StoreError> {
        let is_done = self.log.durable() == self.log.position() && !self.has_unneeded();
        if is_done || self.is_synchronizing {
            return Ok(None);
        }
        let unneeded = self.unneeded.take_before(self.log.durable());
        if !unneeded.is_empty() {
            // A later opening must know that the entries that replaced them are durable.
            self.append(&Batch::default());
        }
        self.write()?;
        self.is_synchronizing = true;
        Ok(Some(Synchronization {
            directory: Arc::clone(self.files.directory()),
            unsynced: self.files.take_unsynced(),
            position: self.log.position(),
            unneeded,
        }))
    }

    /// Notes that a synchronization has succeeded.
    pub fn end_synchronization(&mut self, done: &Synchronization) {
        self.is_synchronizing = false;
        self.log.note_durable(done.position);
        if !done.unneeded.is_empty() {
            self.files.reserve_mut().look();
        }
    }

    /// Synchronizes everything, and notes that.
    ///
    /// # Errors
    /// Those of writing.
    pub fn close(&mut self) -> Result<(), StoreError> {
        self.synchronize_now()?;
        last_use::end(&**self.files.directory())
    }

    /// Synchronizes everything, and removes the files that wait for it.
    fn synchronize_now(&mut self) -> Result<(), StoreError> {
        // The work of another thread may not be done yet, and covers less.
        let is_synchronizing = std::mem::take(&mut self.is_synchronizing);
        if is_synchronizing {
            self.files.doubt();
        }
        while let Some(synchronization) = self.begin_synchronization()? {
            synchronization.run()?;
            self.end_synchronization(&synchronization);
        }
        self.is_synchronizing = is_synchronizing;
        Ok(())
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

/// Whether all data that a batch names was written whole.
fn has_whole_data(batch: &Batch) -> bool {
    pieces_of(batch).all(Piece::is_whole)
}

fn write_data_again(batch: &Batch) -> Result<(), StoreError> {
    pieces_of(batch).try_for_each(Piece::write_again)
}

/// The data that a batch names.
fn pieces_of(batch: &Batch) -> impl Iterator<Item = &Piece> {
    batch.data.iter().filter_map(|change| match change {
        DataChange::Write { payload, .. } => piece_of(payload).map(|(piece, _)| piece),
        DataChange::Punch { .. } => None,
    })
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
