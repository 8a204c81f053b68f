//! What a client remembers from one operation to the next.

use crate::{
    Buckets, Config,
    cache::{Cache, CacheUndo},
    layout::FileHint,
};
use alloc::sync::Arc;
use futago_base::FileId;
use serde::Serialize;

/// All that outlives an operation in a [`Client`](crate::Client): hints, within the bounds of its
/// [`Config`].
#[derive(Debug, Serialize)]
pub struct Memory {
    /// Buckets are shared by those who know the same.
    pub(crate) buckets: Cache<Arc<Buckets>>,
    pub(crate) files: Cache<FileHint>,
}

/// What it takes to bring a [`Memory`] back to where it was.
#[derive(Debug)]
pub struct MemoryUndo {
    buckets: CacheUndo<Arc<Buckets>>,
    files: CacheUndo<FileHint>,
}

impl Memory {
    /// Nothing is known yet.
    pub const fn new(config: &Config) -> Self {
        Self {
            buckets: Cache::new(config.directories_max),
            files: Cache::new(config.files_max),
        }
    }

    /// Remembers where all names of a directory are.
    pub fn know_buckets(&mut self, directory: FileId, buckets: Arc<Buckets>) {
        self.buckets.insert(directory, buckets);
    }

    /// From now on, remembers how changes are taken back.
    pub fn keep_changes(&mut self) {
        self.buckets.keep_changes();
        self.files.keep_changes();
    }

    /// What takes back the changes since the last time, if they are kept.
    pub fn take_changes(&mut self) -> MemoryUndo {
        MemoryUndo {
            buckets: self.buckets.take_changes(),
            files: self.files.take_changes(),
        }
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: MemoryUndo) {
        self.buckets.take_back(undo.buckets);
        self.files.take_back(undo.files);
    }
}
