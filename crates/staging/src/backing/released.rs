//! The files whose data is in the directory alone.

use super::known::{Known, Same};
use crate::TreePath;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A file of the directory with the data of a released one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path that it had in the cluster.
    pub path: TreePath,
    /// Its metadata, as far as it is known.
    pub same: Same,
}

/// The released files by their numbers in the cluster, with all their sources: hard links have
/// several. The threads that restore share it with the passes that write back.
#[derive(Debug, Default)]
pub struct Released(Mutex<BTreeMap<u64, Vec<Source>>>);

impl Released {
    /// The released files among known nodes.
    pub fn of(known: &Known) -> Self {
        let mut files: BTreeMap<u64, Vec<Source>> = BTreeMap::new();
        for (path, same) in known.nodes() {
            if same.released {
                let source = Source {
                    path: path.clone(),
                    same: *same,
                };
                files.entry(same.inode).or_default().push(source);
            }
        }
        Self(Mutex::new(files))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<Source>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A source of a released file.
    pub fn source(&self, file: u64) -> Option<Source> {
        self.lock().get(&file)?.first().cloned()
    }

    /// Gives up a source, unless it is the last one of the file. Returns whether it may change.
    pub fn give_up(&self, file: u64, path: &TreePath) -> bool {
        let mut files = self.lock();
        let Some(sources) = files.get_mut(&file) else {
            return true;
        };
        if sources.iter().all(|source| source.path == *path) {
            return false;
        }
        sources.retain(|source| source.path != *path);
        true
    }

    /// Notes that a file has its data, or is gone.
    pub fn remove(&self, file: u64) {
        self.lock().remove(&file);
    }

    /// Whether a file is released.
    pub fn contains(&self, file: u64) -> bool {
        self.lock().contains_key(&file)
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
