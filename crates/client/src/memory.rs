//! The state of a client from one operation to the next.

use crate::{
    Buckets, Config,
    block_cache::{BlockCache, BlockCacheUndo},
    cache::{Cache, CacheUndo},
    cooperative::{Sharing, SharingUndo},
    layout::FileHint,
    leases::{Leases, LeasesUndo},
    write_buffer::{WriteBuffer, WriteBufferUndo},
};
use alloc::{boxed::Box, sync::Arc};
use futago_base::{FileId, Time};
use futago_wire::cache::PIECE_BYTES;
use serde::Serialize;

/// The part of the cache in which blocks wait for another client to take them.
const LEAVING_PART: u64 = 8;
/// They may be as many as one read brings, if that is not most of the cache.
const LEAVING_BYTES_MIN: u64 = 4 * PIECE_BYTES;

const fn leaving_bytes_max(config: &Config) -> u64 {
    if config.chances == 0 {
        return 0;
    }
    let part = config.data_bytes_max / LEAVING_PART;
    let least = if part > LEAVING_BYTES_MIN {
        part
    } else {
        LEAVING_BYTES_MIN
    };
    let most = config.data_bytes_max / 2;
    if least < most { least } else { most }
}

/// The state that outlives an operation of a [`Client`](crate::Client), within the bounds of its
/// [`Config`]: hints, and the cache under leases.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// Clients with the same knowledge share buckets.
    pub(crate) buckets: Cache<Arc<Buckets>>,
    pub(crate) files: Cache<FileHint>,
    /// The time when a listing last omitted a part of a directory, because its server could not be
    /// reached.
    pub(crate) unlisted: Cache<Time>,
    /// `None` if the client accepts no leases.
    pub(crate) leases: Option<Box<Leases>>,
    /// The cached file data.
    pub(crate) data: BlockCache,
    /// The write-back buffer.
    pub(crate) write_buffer: WriteBuffer,
    /// The knowledge of other clients' caches.
    pub(crate) sharing: Sharing,
}

/// The changes of a [`Memory`] to undo.
#[derive(Debug)]
pub struct MemoryUndo {
    buckets: CacheUndo<Arc<Buckets>>,
    files: CacheUndo<FileHint>,
    unlisted: CacheUndo<Time>,
    leases: Option<Box<LeasesUndo>>,
    data: BlockCacheUndo,
    write_buffer: WriteBufferUndo,
    sharing: SharingUndo,
}

impl Memory {
    /// An empty memory.
    pub fn new(config: &Config) -> Self {
        Self {
            leases: Leases::new(config),
            buckets: Cache::new(config.directories_max),
            files: Cache::new(config.files_max),
            unlisted: Cache::new(config.directories_max),
            data: BlockCache::new(config.data_bytes_max, leaving_bytes_max(config)),
            write_buffer: WriteBuffer::new(),
            sharing: Sharing::new(config),
        }
    }

    /// Caches the buckets of a directory.
    pub fn remember_buckets(&mut self, directory: FileId, buckets: Arc<Buckets>) {
        self.buckets.insert(directory, buckets);
    }

    /// Records changes from now on, so that they can be undone.
    pub fn record_changes(&mut self) {
        self.buckets.record_changes();
        self.files.record_changes();
        self.unlisted.record_changes();
        self.data.record_changes();
        self.write_buffer.record_changes();
        self.sharing.record_changes();
        if let Some(leases) = &mut self.leases {
            leases.record_changes();
        }
    }

    /// The changes since the last call, if they are recorded.
    pub fn take_changes(&mut self) -> MemoryUndo {
        MemoryUndo {
            buckets: self.buckets.take_changes(),
            files: self.files.take_changes(),
            unlisted: self.unlisted.take_changes(),
            data: self.data.take_changes(),
            write_buffer: self.write_buffer.take_changes(),
            sharing: self.sharing.take_changes(),
            leases: (self.leases.as_mut()).map(|leases| Box::new(leases.take_changes())),
        }
    }

    /// Undoes changes: the latest that have not been undone.
    pub fn take_back(&mut self, undo: MemoryUndo) {
        self.buckets.take_back(undo.buckets);
        self.files.take_back(undo.files);
        self.unlisted.take_back(undo.unlisted);
        self.data.take_back(undo.data);
        self.write_buffer.take_back(undo.write_buffer);
        self.sharing.take_back(undo.sharing);
        if let (Some(leases), Some(undo)) = (&mut self.leases, undo.leases) {
            leases.take_back(*undo);
        }
    }
}
