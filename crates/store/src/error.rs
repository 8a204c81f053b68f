//! Why a store on disk cannot be read or written.

use crate::head::Identity;
use futago_base::ChunkId;
use std::{
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Why a store on disk cannot be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refuses something.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// The attempt.
        action: &'static str,
        /// The path that it is about.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Another process uses the directory.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// It was written in another format.
    #[error("{path} has version {found} of the format, this program reads {known}", path = path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// It is of another server.
    #[error("{path} belongs to {found}, not to {wanted}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        found: String,
        /// The expected owner.
        wanted: String,
    },
    /// Bytes are not as they were written, and whole entries follow them.
    #[error("{path} is damaged at byte {offset}; nothing of it was changed", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, in bytes from its beginning.
        offset: u64,
    },
    /// Data of a chunk is not as it was written.
    #[error("{path} is damaged at byte {offset}: data of chunk {index} of file {file} is lost",
        path = path.display(), index = chunk.index, file = chunk.file)]
    DamagedData {
        /// The file.
        path: PathBuf,
        /// Where, in bytes from its beginning.
        offset: u64,
        /// The chunk.
        chunk: ChunkId,
    },
    /// A file of data is missing.
    #[error("{} is missing: it has {bytes} bytes of data that files have", .path.display())]
    MissingData {
        /// The file.
        path: PathBuf,
        /// The bytes of it that are used.
        bytes: u64,
    },
    /// There is data, and no log that names it.
    #[error("{} has data of a server, and not its log", .0.display())]
    MissingLog(PathBuf),
    /// A file of the log is missing.
    #[error("the file before {} is missing: it has the entries from {after} on", .path.display())]
    Missing {
        /// The file after it.
        path: PathBuf,
        /// The position of the first missing entry.
        after: u64,
    },
}

impl StoreError {
    /// Bytes of the log that are not as they were written.
    pub(crate) fn damaged(path: &Path, offset: u64) -> Self {
        Self::Damaged {
            path: path.into(),
            offset,
        }
    }

    /// A file that does not belong here.
    pub(crate) fn foreign(path: &Path, found: &Identity, wanted: &Identity) -> Self {
        Self::Foreign {
            path: path.into(),
            found: found.to_string(),
            wanted: wanted.to_string(),
        }
    }

    /// Makes the error of an action on a path.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
