//! Failures of single files of a copy.

use crate::TreePath;
use serde::{Deserialize, Serialize};
use std::io;

/// The reason why a file was not copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{action} {path}: {cause}")]
pub struct Failure {
    /// The file.
    pub path: TreePath,
    /// The action that failed, such as `reading`.
    pub action: String,
    /// The error, for people.
    pub cause: String,
    /// The consequence for the rest of the copy.
    pub reach: Reach,
}

/// The part of a copy that a failure concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// This file alone.
    File,
    /// This file alone, which changed while it was copied. Another attempt may succeed.
    Changed,
    /// The rest as well: a server does not answer.
    Unreachable,
    /// The rest as well: the copy is interrupted.
    Interrupted,
    /// The rest as well: the target is full or read-only.
    Refused,
}

impl Reach {
    /// Whether the rest of a copy would fail for the same reason.
    pub const fn ends_copy(self) -> bool {
        !matches!(self, Self::File | Self::Changed)
    }
}

/// The result of a step of a copy.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// An error of the local file system.
    pub fn local(path: &TreePath, action: &str, error: &io::Error) -> Self {
        let reach = match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::ReadOnlyFilesystem => Reach::Refused,
            _ => Reach::File,
        };
        Self::with(path, action, error.to_string(), reach)
    }

    /// An error of the cluster.
    pub fn cluster(path: &TreePath, action: &str, error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EIO) => {
                let cause = "a server does not answer; futago status tells which";
                Self::with(path, action, cause, Reach::Unreachable)
            }
            Some(libc::ENOSPC) => Self::with(path, action, error.to_string(), Reach::Refused),
            _ => Self::with(path, action, error.to_string(), Reach::File),
        }
    }

    /// A failure of one file with a reason of its own.
    pub fn of_file(path: &TreePath, action: &str, cause: impl Into<String>) -> Self {
        Self::with(path, action, cause, Reach::File)
    }

    /// A source that was not the same from beginning to end.
    pub fn changed(path: &TreePath) -> Self {
        Self::with(
            path,
            "copying",
            "it changed while it was copied",
            Reach::Changed,
        )
    }

    /// A copy that is interrupted.
    pub fn interrupted(path: &TreePath) -> Self {
        Self::with(path, "copying", "interrupted", Reach::Interrupted)
    }

    /// Clients on another host that have ended.
    pub fn host(path: &TreePath, host: &str) -> Self {
        let cause = format!("the clients on {host} have ended");
        Self::with(path, "copying", cause, Reach::Unreachable)
    }

    fn with(path: &TreePath, action: &str, cause: impl Into<String>, reach: Reach) -> Self {
        Self {
            path: path.clone(),
            action: action.to_owned(),
            cause: cause.into(),
            reach,
        }
    }
}
