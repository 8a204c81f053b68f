//! Why a log cannot be read or written.

use std::{io, path::PathBuf};
use thiserror::Error;

/// Why a log cannot be read or written.
#[derive(Debug, Error)]
pub enum LogError {
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
    /// It is the log of another server.
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
    /// A file is missing.
    #[error("the file before {} is missing: it has the entries from {after} on", .path.display())]
    Missing {
        /// The file after it.
        path: PathBuf,
        /// The position of the first missing entry.
        after: u64,
    },
}

impl LogError {
    /// Makes the error of an action on a path.
    pub(super) fn io(
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
