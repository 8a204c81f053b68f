//! The settings of a store on disk.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The losses that a confirmed change survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// The end of the server's process.
    #[default]
    Process,
    /// Also a loss of power: nothing is confirmed before it is synchronized to the disk.
    Always,
}

/// The settings of a store on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// The memory for records and for data, in bytes.
    pub memory_bytes: u64,
    /// The number of stores that share the disk: each has an equal part of its room.
    pub sharing: u64,
    /// The losses that a confirmed change survives.
    pub sync: Sync,
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

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Always => "always",
        })
    }
}

impl FromStr for Sync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "process" => Ok(Self::Process),
            "always" => Ok(Self::Always),
            _ => Err("write process or always".into()),
        }
    }
}

impl StoreConfig {
    /// The usual sizes, with this memory, for stores that share a disk.
    pub const fn new(memory_bytes: u64, sharing: u64, sync: Sync) -> Self {
        Self {
            memory_bytes,
            sharing,
            sync,
            file_bytes: 64 << 20,
            slack_bytes: 64 << 20,
            direct_bytes: 16 << 10,
        }
    }
}
