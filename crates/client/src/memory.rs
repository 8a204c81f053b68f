//! What a client remembers from one operation to the next.

use crate::{
    Buckets, Config,
    cache::{Cache, CacheUndo},
    kept_blocks::{KeptBlocks, KeptBlocksUndo},
    layout::FileHint,
    leases::{Leases, LeasesUndo},
    unsent::{Unsent, UnsentUndo},
};
use alloc::{boxed::Box, sync::Arc};
use futago_base::{FileId, Time};
use serde::Serialize;

/// All that outlives an operation in a [`Client`](crate::Client), within the bounds of its [`Config`]: hints,
/// and what it keeps under leases.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// Buckets are shared by those who know the same.
    pub(crate) buckets: Cache<Arc<Buckets>>,
    pub(crate) files: Cache<FileHint>,
    /// When a part of a directory was last left out of a listing, because its server could not be
    /// reached.
    pub(crate) unlisted: Cache<Time>,
    /// `None` if the client takes no leases.
    pub(crate) leases: Option<Box<Leases>>,
    /// What was read and written of files.
    pub(crate) data: KeptBlocks,
    /// What was written to files and is not sent yet.
    pub(crate) unsent: Unsent,
}

/// What it takes to bring a [`Memory`] back to where it was.
#[derive(Debug)]
pub struct MemoryUndo {
    buckets: CacheUndo<Arc<Buckets>>,
    files: CacheUndo<FileHint>,
    unlisted: CacheUndo<Time>,
    leases: Option<Box<LeasesUndo>>,
    data: KeptBlocksUndo,
    unsent: UnsentUndo,
}

impl Memory {
    /// Nothing is known yet.
    pub fn new(config: &Config) -> Self {
        Self {
            leases: Leases::new(config),
            buckets: Cache::new(config.directories_max),
            files: Cache::new(config.files_max),
            unlisted: Cache::new(config.directories_max),
            data: KeptBlocks::new(config.data_bytes_max),
            unsent: Unsent::new(),
        }
    }

    /// Remembers where all names of a directory are.
    pub fn know_buckets(&mut self, directory: FileId, buckets: Arc<Buckets>) {
        self.buckets.insert(directory, buckets);
    }

    /// From now on, remembers how changes are taken back.
    pub fn record_changes(&mut self) {
        self.buckets.record_changes();
        self.files.record_changes();
        self.unlisted.record_changes();
        self.data.record_changes();
        self.unsent.record_changes();
        if let Some(leases) = &mut self.leases {
            leases.record_changes();
        }
    }

    /// What takes back the changes since the last time, if they are kept.
    pub fn take_changes(&mut self) -> MemoryUndo {
        MemoryUndo {
            buckets: self.buckets.take_changes(),
            files: self.files.take_changes(),
            unlisted: self.unlisted.take_changes(),
            data: self.data.take_changes(),
            unsent: self.unsent.take_changes(),
            leases: (self.leases.as_mut()).map(|leases| Box::new(leases.take_changes())),
        }
    }

    /// Takes changes back: the latest that have not been taken back.
    pub fn take_back(&mut self, undo: MemoryUndo) {
        self.buckets.take_back(undo.buckets);
        self.files.take_back(undo.files);
        self.unlisted.take_back(undo.unlisted);
        self.data.take_back(undo.data);
        self.unsent.take_back(undo.unsent);
        if let (Some(leases), Some(undo)) = (&mut self.leases, undo.leases) {
            leases.take_back(*undo);
        }
    }
}
