//! A directory in memory whose power fails: what was not synchronized may be lost, in any part.
//! A synchronization may fail and drop what it should have written, as Linux does.

use crate::directory::{Directory, Room};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, IoSlice},
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A disk writes sectors of so many bytes as a whole.
const SECTOR_BYTES: usize = 512;

/// A directory in memory.
#[derive(Debug, Default)]
pub struct SimulatedDirectory(Mutex<State>);

#[derive(Clone, Debug, Default)]
struct State {
    /// The files as processes see them.
    files: BTreeMap<String, Contents>,
    /// The files that there are after a loss of power; `files` or `removed` has their contents.
    names: BTreeSet<String>,
    /// Files that were removed, and whose removal is not synchronized.
    removed: BTreeMap<String, Contents>,
    /// After so many changes the power is out; `None` for never.
    changes_left: Option<u64>,
    /// How often the power was out.
    restarts: u64,
    /// Whether synchronizing does nothing: the disk lies.
    ignores_sync: bool,
    /// After so many synchronizations of contents the next one fails; `None` for never.
    syncs_left: Option<u64>,
    /// The contents that files show where a failed synchronization has dropped writes.
    dropped: Dropped,
}

/// The contents that a file shows where a failed synchronization has dropped writes. No later
/// synchronization writes them, and it succeeds (Rebello et al., Can Applications Recover from
/// fsync Failures?, ATC 2020).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dropped {
    /// The new bytes, as long as the system caches them.
    #[default]
    Cached,
    /// The bytes of the disk, and zeros behind them.
    Gone,
}

/// The contents of a file.
#[derive(Clone, Debug, Default)]
struct Contents {
    bytes: Vec<u8>,
    /// As it was when it was last synchronized.
    synced: Vec<u8>,
    /// The next synchronization writes the bytes from here on.
    dirty_from: usize,
}

impl SimulatedDirectory {
    /// Has the power fail after so many changes: each one after that fails.
    pub fn fail_after(&self, changes: u64) {
        self.state().changes_left = Some(changes);
    }

    /// A directory with the same contents and faults.
    pub fn copied(&self) -> Self {
        Self(Mutex::new(self.state().clone()))
    }

    /// Changes one bit of a file, as a disk may do by itself.
    pub fn flip(&self, name: &str, byte: u64, bit: u8) {
        let mut state = self.state();
        if let Some(contents) = state.files.get_mut(name) {
            for bytes in [&mut contents.bytes, &mut contents.synced] {
                if let Some(byte) = bytes.get_mut(byte as usize) {
                    *byte ^= 1 << (bit % 8);
                }
            }
        }
    }

    /// Has the disk claim to synchronize, and not do it.
    pub fn ignore_sync(&self) {
        self.state().ignores_sync = true;
    }

    /// Has a synchronization of contents fail, after so many that succeed. It drops what it should
    /// have written.
    pub fn fail_sync_after(&self, syncs: u64, dropped: Dropped) {
        let mut state = self.state();
        state.syncs_left = Some(syncs);
        state.dropped = dropped;
    }

    /// The power comes back. Of what was not synchronized, `draw` decides what is left: it returns
    /// a number below its argument.
    pub fn restart(&self, draw: &mut dyn FnMut(u64) -> u64) {
        let mut state = self.state();
        let state = &mut *state;
        for (name, contents) in std::mem::take(&mut state.removed) {
            if draw(2) == 0 {
                state.files.insert(name, contents);
            }
        }
        let names = &state.names;
        state
            .files
            .retain(|name, _| names.contains(name) || draw(2) == 0);
        for contents in state.files.values_mut() {
            contents.lose(draw);
        }
        state.names = state.files.keys().cloned().collect();
        state.changes_left = None;
        state.syncs_left = None;
        state.restarts += 1;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the files, if there is power.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        match &mut state.changes_left {
            Some(0) => return Err(io::Error::other("the power is out")),
            Some(left) => *left -= 1,
            None => {}
        }
        change(&mut state)
    }
}

impl State {
    fn sync_names(&mut self) {
        if !self.ignores_sync {
            self.names = self.files.keys().cloned().collect();
            self.removed.clear();
        }
    }

    /// Synchronizes the contents of a file, or those of all.
    fn sync(&mut self, name: Option<&str>) -> io::Result<()> {
        if self.ignores_sync {
            return Ok(());
        }
        let fails = self.syncs_left == Some(0);
        self.syncs_left = self.syncs_left.and_then(|left| left.checked_sub(1));
        let dropped = fails.then_some(self.dropped);
        let files = self.files.iter_mut();
        let synced = files.filter(|(file, _)| name.is_none_or(|name| name == file.as_str()));
        synced.for_each(|(_, contents)| contents.sync(dropped));
        match fails {
            true => Err(io::Error::other("the disk has failed")),
            false => Ok(()),
        }
    }
}

impl Contents {
    /// New contents, of which the disk has nothing.
    const fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            synced: Vec::new(),
            dirty_from: 0,
        }
    }

    /// Writes what is not written, or drops it.
    fn sync(&mut self, dropped: Option<Dropped>) {
        let (length, from) = (self.bytes.len(), self.dirty_from.min(self.bytes.len()));
        match dropped {
            None => {
                self.synced.resize(length, 0);
                self.synced[from..].copy_from_slice(&self.bytes[from..]);
            }
            Some(Dropped::Cached) => {}
            Some(Dropped::Gone) => {
                self.bytes.clone_from(&self.synced);
                self.bytes.resize(length, 0);
            }
        }
        self.dirty_from = length;
    }

    /// Loses what was not synchronized: the file has the old or the new size or any in between, and
    /// each sector is the old or the new one.
    fn lose(&mut self, draw: &mut dyn FnMut(u64) -> u64) {
        let (old, new) = (&self.synced, &self.bytes);
        let (least, most) = (old.len().min(new.len()), old.len().max(new.len()));
        let length = match draw(3) {
            0 => old.len(),
            1 => new.len(),
            _ => least + draw((most - least) as u64 + 1) as usize,
        };
        let mut left = vec![0; length];
        for (number, sector) in left.chunks_mut(SECTOR_BYTES).enumerate() {
            let from = number * SECTOR_BYTES;
            let source = if draw(2) == 0 { old } else { new };
            for (at, byte) in sector.iter_mut().enumerate() {
                let is_dropped = from + at < self.dirty_from;
                let source = if is_dropped { old } else { source };
                *byte = source.get(from + at).copied().unwrap_or(0);
            }
        }
        self.dirty_from = left.len();
        self.synced.clone_from(&left);
        self.bytes = left;
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Directory for SimulatedDirectory {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().files.keys().cloned().collect())
    }

    fn size(&self, name: &str) -> io::Result<u64> {
        let state = self.state();
        let contents = state.files.get(name).ok_or_else(missing)?;
        Ok(contents.bytes.len() as u64)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.change(
            |state| match state.files.insert(name.into(), Contents::new(bytes.into())) {
                None => Ok(()),
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            },
        )
    }

    fn append(&self, name: &str, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.change(|state| {
            let contents = state.files.get_mut(name).ok_or_else(missing)?;
            let before = contents.bytes.len();
            pieces
                .iter()
                .for_each(|piece| contents.bytes.extend_from_slice(piece));
            Ok(contents.bytes.len() - before)
        })
    }

    fn read(&self, name: &str, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.state();
        let contents = state.files.get(name).ok_or_else(missing)?;
        let from = offset as usize;
        let found = contents.bytes.get(from..from + bytes.len());
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn truncate(&self, name: &str, bytes: u64) -> io::Result<()> {
        self.change(|state| {
            let contents = state.files.get_mut(name).ok_or_else(missing)?;
            contents.bytes.truncate(bytes as usize);
            contents.dirty_from = contents.dirty_from.min(bytes as usize);
            Ok(())
        })
    }

    fn overwrite(&self, name: &str, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.change(|state| {
            let contents = state.files.get_mut(name).ok_or_else(missing)?;
            let from = offset as usize;
            let place = contents.bytes.get_mut(from..from + bytes.len());
            place.ok_or_else(missing)?.copy_from_slice(bytes);
            contents.dirty_from = contents.dirty_from.min(from);
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(|state| {
            if let Some(contents) = state.files.remove(name)
                && state.names.contains(name)
            {
                state.removed.insert(name.into(), contents);
            }
            Ok(())
        })
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.change(|state| {
            let is_there = state.files.contains_key(name) || state.ignores_sync;
            is_there.then_some(()).ok_or_else(missing)?;
            state.sync(Some(name))
        })
    }

    fn sync_names(&self) -> io::Result<()> {
        self.change(|state| {
            state.sync_names();
            Ok(())
        })
    }

    fn sync_all(&self) -> io::Result<()> {
        self.change(|state| {
            state.sync(None)?;
            state.sync_names();
            Ok(())
        })
    }

    fn room(&self) -> io::Result<Room> {
        Ok(Room {
            total_bytes: u64::MAX / 2,
            free_bytes: u64::MAX / 2,
        })
    }

    fn set_aside(&self, name: &str, _bytes: u64) -> io::Result<()> {
        self.create(name, &[])
    }

    fn run_of_system(&self) -> String {
        self.state().restarts.to_string()
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("simulated").join(name)
    }
}
