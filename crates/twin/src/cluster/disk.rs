//! The disks of servers: directories in memory whose power fails. Synchronization takes simulated
//! time.

use super::{Coverage, Mark};
use crate::random::Random;
use futago_base::{Duration, Incarnation, Time};
use futago_driver::{Core, ServerDriver};
use futago_store::{
    DataPlace, Directory as _, Dropped, Identity, Recovered, ServerStore, SimulatedDirectory,
    StoreConfig, StoreError, Sync, Synchronization,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How much of the latest work of a server a loss of power may undo, as on real servers.
const SYNCHRONIZE_EVERY: Duration = Duration::from_secs(5);
/// A loss of power breaks a synchronization off after fewer changes of the disk than this.
const CHANGES_MAX: u64 = 12;

/// The settings of the disks of all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskConfig {
    /// The losses that a confirmed change survives.
    pub sync: Sync,
    /// The size at which a file ends, in bytes.
    pub file_bytes: u64,
    /// The size of files that are not cleaned, in bytes.
    pub slack_bytes: u64,
    /// The least length of data that is written to a file of its own kind at once, in bytes.
    pub direct_bytes: usize,
    /// How long a synchronization takes at most.
    pub synchronization_max: Duration,
    /// So many of 1,000 writes and synchronizations fail while there are faults.
    pub failing_permille: u32,
    /// The same of synchronizations that drop what they should have written.
    pub dropping_permille: u32,
}

impl DiskConfig {
    /// A server whose disk has failed comes back within this time.
    pub const RETURN_MAX: Duration = Duration::from_secs(1);
}

/// The faults that disks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFaults {
    /// None.
    None,
    /// Operations fail. Nothing is lost that clients have seen.
    Lossless,
    /// Failed synchronizations may undo what clients have seen.
    Undoing,
}

/// How a server ends that goes on with what it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its process ends. The system has all that was written.
    Process,
    /// Its process ends because the disk has failed. Nobody has seen what was not written,
    /// which is lost.
    Failure,
    /// The power fails. All that was not synchronized may be lost.
    Power,
}

/// The disk of a server.
pub struct Disk {
    config: DiskConfig,
    memory_bytes: u64,
    /// The server of the cluster; its life is the one that began with an empty disk.
    identity: Identity,
    directory: Arc<SimulatedDirectory>,
    random: Random,
    /// Draws which synchronizations drop what they should have written.
    drops: Random,
    /// Draws which bits of a copy change.
    flips: Random,
    under_way: Option<UnderWay>,
    /// The faults that operations of the disk may have now, and the one that the next may have.
    faults: DiskFaults,
    next_fault: Option<Fault>,
    /// Whether a synchronization that has failed is attempted once more.
    is_repeating: bool,
    /// When the store is synchronized, whether something waits for it or not.
    next_synchronization: Time,
    /// The number of synchronizations that have begun.
    begun: u64,
    /// The files at the latest look.
    files: BTreeSet<String>,
}

/// A fault that an operation of a disk may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails.
    Failure,
    /// A synchronization fails, and drops what it should have written.
    Drop,
}

/// A synchronization that another thread of the server does.
struct UnderWay {
    number: u64,
    work: Synchronization,
    /// Whether the disk has done it already, and the server has not heard of it.
    is_done: bool,
}

/// A synchronization that ends after a while.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// Its number.
    pub number: u64,
    /// How long it takes.
    pub lasts: Duration,
}

impl Disk {
    /// An empty disk.
    pub fn new(config: DiskConfig, memory_bytes: u64, identity: Identity, seed: u64) -> Self {
        Self {
            config,
            memory_bytes,
            directory: Arc::default(),
            random: Random::new(seed, 2000 + u64::from(identity.server.0)),
            drops: Random::new(seed, 4000 + u64::from(identity.server.0)),
            flips: Random::new(seed, 5000 + u64::from(identity.server.0)),
            identity,
            under_way: None,
            faults: DiskFaults::None,
            next_fault: None,
            is_repeating: false,
            next_synchronization: Time(0) + SYNCHRONIZE_EVERY,
            begun: 0,
            files: BTreeSet::new(),
        }
    }

    /// Opens the store that is on it, or begins one.
    pub fn open(&self) -> Result<(ServerStore, Recovered), StoreError> {
        self.open_in(self.directory.clone())
    }

    fn open_in(
        &self,
        directory: Arc<SimulatedDirectory>,
    ) -> Result<(ServerStore, Recovered), StoreError> {
        let config = StoreConfig {
            file_bytes: self.config.file_bytes,
            slack_bytes: self.config.slack_bytes,
            direct_bytes: self.config.direct_bytes,
            ..StoreConfig::new(self.memory_bytes, 1, self.config.sync)
        };
        ServerStore::on_disk(directory, self.identity, config)
    }

    /// From now on, the disk claims to synchronize, and does not do it.
    pub fn ignore_synchronization(&self) {
        self.directory.ignore_sync();
    }

    /// Puts an empty disk in its place, for a new life of the server.
    pub fn empty(&mut self, life: Incarnation) {
        self.identity.incarnation = life;
        self.directory = Arc::default();
        self.under_way = None;
        self.files.clear();
    }

    /// From now on, a synchronization that has failed is attempted once more, as if nothing were
    /// lost.
    pub const fn repeat_synchronization(&mut self) {
        self.is_repeating = true;
    }

    /// Removes the note that a synchronization has failed.
    pub fn remove_doubt(&self) {
        let names = self.directory.list().unwrap_or_default();
        for name in names.iter().filter(|name| name.ends_with("-doubted")) {
            // Memory does not fail.
            let _ = self.directory.remove(name);
        }
    }

    /// From now on, operations of the disk have such faults now and then.
    pub const fn set_faults(&mut self, faults: DiskFaults) {
        self.faults = faults;
    }

    /// Perhaps has one of the next operations fail.
    pub fn draw_fault(&mut self) {
        if self.faults == DiskFaults::None {
            return;
        }
        if self.random.chance(self.config.failing_permille) {
            self.next_fault = Some(Fault::Failure);
            self.directory.fail_after(self.random.below(3));
        }
        let is_lossless = self.faults == DiskFaults::Lossless;
        // Without a confirmation nothing is lost that clients have seen.
        let may_drop = !is_lossless || self.config.sync == Sync::Always;
        if may_drop && self.drops.chance(self.config.dropping_permille) {
            let dropped = *self.drops.pick(&[Dropped::Cached, Dropped::Gone]);
            self.directory.fail_sync_after(self.drops.below(2), dropped);
            self.next_fault = Some(Fault::Drop);
        }
    }

    /// The fault that an operation was about to have. None has one any more.
    pub fn end_fault(&mut self) -> Option<Fault> {
        let fault = self.next_fault.take();
        if fault.is_some() {
            self.directory.fail_after(u64::MAX);
            self.directory.fail_sync_after(u64::MAX, Dropped::Cached);
        }
        fault
    }

    /// Changes a bit of some data on it.
    pub fn damage(&self, place: &DataPlace, random: &mut Random) {
        let (byte, bit) = (random.below(place.bytes), random.below(8));
        self.directory.flip(&place.file, place.at + byte, bit as u8);
    }

    /// Whether a copy of it is opened although one bit of the log is changed. Behind the position
    /// `written` such a change looks like a torn end.
    pub fn hides_damage(&mut self, written: u64) -> Option<String> {
        let names = self.directory.list().ok()?;
        let logs: Vec<&String> = names.iter().filter(|name| name.ends_with(".log")).collect();
        let name = *self.flips.pick(&logs);
        let size = self.directory.size(name).unwrap_or_default();
        let (byte, bit) = (self.flips.below(size), self.flips.below(8));
        let copy = self.directory.copied();
        copy.flip(name, byte, bit as u8);
        let (store, _) = self.open_in(Arc::new(copy)).ok()?;
        let position = futago_base::Store::position(&store);
        let text = format!(
            "bit {bit} of byte {byte} in {name} is changed, and opening ends at {position}"
        );
        (position < written).then_some(text)
    }

    /// How long a server whose disk has failed is away.
    pub fn draw_return(&mut self) -> Duration {
        Duration(1 + self.random.below(DiskConfig::RETURN_MAX.0))
    }

    /// The server ends. The thread that synchronizes does so with it, at any point of its work.
    pub fn end(&mut self, ending: Ending) {
        if let Some(UnderWay { work, is_done, .. }) = self.under_way.take()
            && !is_done
        {
            self.directory.fail_after(self.random.below(CHANGES_MAX));
            // It fails if the power does.
            let _ = work.run();
            self.directory.fail_after(u64::MAX);
        }
        if ending == Ending::Power {
            self.directory
                .restart(&mut |bound| self.random.below(bound));
        }
    }

    /// Begins to synchronize the store if something waits for it or it is time.
    pub fn begin_synchronization<C: Core<ServerStore>>(
        &mut self,
        driver: &mut ServerDriver<C, ServerStore>,
        now: Time,
    ) -> Result<Option<Begun>, StoreError> {
        let is_wanted = driver.awaits_durability() || driver.store().wants_synchronization();
        if !is_wanted && now < self.next_synchronization {
            return Ok(None);
        }
        self.next_synchronization = now + SYNCHRONIZE_EVERY;
        let work = driver.store_mut().begin_synchronization()?;
        work.map(|work| self.put_under_way(work)).transpose()
    }

    /// The disk may be done at once or at the end of the time. Later writes survive or not.
    fn put_under_way(&mut self, work: Synchronization) -> Result<Begun, StoreError> {
        let is_done = self.random.chance(500);
        if is_done {
            self.run(&work)?;
        }
        self.begun += 1;
        let number = self.begun;
        self.under_way = Some(UnderWay {
            number,
            work,
            is_done,
        });
        let longest = self.config.synchronization_max.0;
        let lasts = Duration(1 + self.random.below(longest));
        Ok(Begun { number, lasts })
    }

    fn run(&self, work: &Synchronization) -> Result<(), StoreError> {
        match work.run() {
            Err(_) if self.is_repeating => work.run(),
            outcome => outcome,
        }
    }

    /// Ends the synchronization of a number, unless the server has ended since.
    pub fn end_synchronization(
        &mut self,
        number: u64,
        store: &mut ServerStore,
    ) -> Result<(), StoreError> {
        let under_way = self.under_way.take_if(|it| it.number == number);
        if let Some(UnderWay { work, is_done, .. }) = under_way {
            if !is_done {
                self.run(&work)?;
            }
            store.end_synchronization(&work);
        }
        Ok(())
    }

    /// The size of all files of a sort, in bytes.
    fn bytes_of(&self, suffix: &str) -> u64 {
        let names = self.directory.list().unwrap_or_default();
        let of_sort = names.iter().filter(|name| name.ends_with(suffix));
        let sizes = of_sort.map(|name| self.directory.size(name).unwrap_or_default());
        sizes.sum()
    }

    /// The bytes of the log that opening will find or has found.
    pub fn log_bytes(&self) -> u64 {
        self.bytes_of(".log")
    }

    /// Marks which files were removed since the last look.
    pub fn note_files(&mut self, marks: &mut Coverage) {
        let names = self.directory.list().unwrap_or_default();
        let names: BTreeSet<String> = names.into_iter().collect();
        for gone in self.files.difference(&names) {
            marks.add_if(gone.ends_with(".log"), Mark::LogCleaned);
            marks.add_if(gone.ends_with(".data"), Mark::DataFileRemoved);
        }
        self.files = names;
    }
}
