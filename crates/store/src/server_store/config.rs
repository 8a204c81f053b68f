//! The sizes of a store on disk.

/// The sizes of a store on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The memory for records and for data, in bytes.
    pub memory_bytes: u64,
    /// The number of stores that share the disk: each has an equal part of its room.
    pub sharing: u64,
    /// A file ends with the entry or data that makes it as large as this, in bytes. Default:
    /// 64 MiB.
    pub file_bytes: u64,
    /// Files that are larger than twice what they are needed for and this are cleaned, in bytes.
    /// Default: 64 MiB.
    pub slack_bytes: u64,
    /// Data of at least this length is written to a file of its own kind at once, in bytes. The log
    /// has shorter data until it is cleaned, because two writes would cost more. Default: 16 KiB.
    pub direct_bytes: usize,
}

impl StoreConfig {
    /// The usual sizes, with this memory, for stores that share a disk.
    pub const fn new(memory_bytes: u64, sharing: u64) -> Self {
        Self {
            memory_bytes,
            sharing,
            file_bytes: 64 << 20,
            slack_bytes: 64 << 20,
            direct_bytes: 16 << 10,
        }
    }
}
