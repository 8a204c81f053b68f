//! The input of the recorder.

use crate::{Existing, ExistingKind, Operation};
use futago_base::{Errno, Kind, Name};

/// An operation that has ended.
#[derive(Clone, Debug)]
pub struct Event {
    /// The requesting thread; `None` if it is not known.
    pub process: Option<u64>,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub operation: Operation,
    pub error: Option<Errno>,
    /// The files that it found and did not create.
    pub met: Vec<Met>,
}

impl Event {
    /// The file that it created.
    pub fn made(&self) -> Option<u64> {
        let (file, ..) = self.operation.finds()?;
        let found = self.met.iter().any(|met| met.file == file);
        (!found).then_some(file)
    }
}

/// A file or directory that an operation found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Its number.
    pub file: u64,
    /// The directory that contains it.
    pub directory: u64,
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// Its size in bytes; `None` if it is not known.
    pub size: Option<u64>,
}

impl Met {
    /// The content of its line. A directory has no size. A node that is neither a file, a directory
    /// nor a symbolic link counts as an empty file.
    pub fn existing(self) -> Existing {
        let size = self.size.unwrap_or(0);
        let kind = match self.kind {
            Kind::Directory => ExistingKind::Directory,
            Kind::Symlink => ExistingKind::Symlink {
                size: u32::try_from(size).unwrap_or(u32::MAX),
            },
            Kind::File => ExistingKind::File { size },
            _ => ExistingKind::File { size: 0 },
        };
        Existing {
            file: self.file,
            directory: self.directory,
            name: self.name,
            kind,
        }
    }

    /// Whether all facts for its line are known.
    pub const fn is_complete(&self) -> bool {
        self.size.is_some() || !matches!(self.kind, Kind::File | Kind::Symlink)
    }
}
