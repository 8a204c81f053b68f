//! A directory in memory whose power fails: what was not synchronized may be lost, in any part.

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

#[derive(Debug, Default)]
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
}

/// The contents of a file.
#[derive(Clone, Debug, Default)]
struct Contents {
    bytes: Vec<u8>,
    /// As it was when it was last synchronized.
    synced: Vec<u8>,
}

impl SimulatedDirectory {
    /// Has the power fail after so many changes: each one after that fails.
    pub fn fail_after(&self, changes: u64) {
        self.state().changes_left = Some(changes);
    }

    /// Has the disk claim to synchronize, and not do it.
    pub fn ignore_sync(&self) {
        self.state().ignores_sync = true;
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
}

impl Contents {
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
                *byte = source.get(from + at).copied().unwrap_or(0);
            }
        }
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
        self.change(|state| {
            let contents = Contents {
                bytes: bytes.into(),
                synced: Vec::new(),
            };
            match state.files.insert(name.into(), contents) {
                None => Ok(()),
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            }
        })
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
            if state.ignores_sync {
                return Ok(());
            }
            let contents = state.files.get_mut(name).ok_or_else(missing)?;
            contents.synced.clone_from(&contents.bytes);
            Ok(())
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
            if !state.ignores_sync {
                let all = state.files.values_mut();
                all.for_each(|contents| contents.synced.clone_from(&contents.bytes));
            }
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
