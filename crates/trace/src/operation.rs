//! Operations and their files.

use crate::text;
use futago_base::{Errno, Name};
use serde::{Deserialize, Serialize};

/// An operation of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The process: a thread, whose operations follow one another.
    pub process: u64,
    /// The time at which it began, since the start of the recording.
    pub begin_ns: u64,
    /// Its duration.
    pub took_ns: u64,
    /// The operation.
    pub operation: Operation,
    /// The error of a failed operation, such as `ENOENT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Errno>,
}

/// A file or directory that operations found and did not create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Existing {
    /// Its number.
    pub file: u64,
    /// The directory that contained it.
    #[serde(rename = "in")]
    pub directory: u64,
    /// Its name.
    #[serde(with = "text")]
    pub name: Name,
    /// Its kind.
    pub kind: ExistingKind,
}

/// The kind of a file when the operations found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ExistingKind {
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Its size, in bytes.
        size: u64,
    },
    /// A symbolic link.
    Symlink {
        /// The size of its target, in bytes.
        size: u32,
    },
}

const fn is_false(value: &bool) -> bool {
    !*value
}

const fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// An operation of a process. Files are referred to by their numbers. If an operation finds or
/// creates a file, `file` is its number from then on; it is absent if the operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields mean the same in all operations")]
pub enum Operation {
    /// Looked up a name in a directory, and read its attributes.
    Stat {
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u64>,
    },
    /// Created a regular file, or found one if it need not be new (`exclusive`). It was opened if
    /// `open`. A new file received `length` bytes of data.
    Create {
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
        #[serde(default, skip_serializing_if = "is_false")]
        exclusive: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        open: bool,
        #[serde(default, skip_serializing_if = "is_zero")]
        length: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u64>,
    },
    /// Created a directory.
    MakeDirectory {
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u64>,
    },
    /// Created a symbolic link with a target of `size` bytes.
    Symlink {
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
        size: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<u64>,
    },
    /// Gave a file another name.
    Link {
        file: u64,
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
    },
    /// Removed a name that was not a directory's.
    Unlink {
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
    },
    /// Removed a directory.
    RemoveDirectory {
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
    },
    /// Renamed, or exchanged two names.
    Rename {
        #[serde(rename = "in")]
        directory: u64,
        #[serde(with = "text")]
        name: Name,
        new_in: u64,
        #[serde(with = "text")]
        new_name: Name,
        #[serde(default, skip_serializing_if = "is_false")]
        no_replace: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        exchange: bool,
    },
    /// Read a file's attributes.
    GetAttributes { file: u64 },
    /// Changed a file's size, permissions, or others of its attributes.
    SetAttributes {
        file: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u16>,
    },
    /// Opened a regular file.
    Open { file: u64 },
    /// Closed a regular file.
    Close { file: u64 },
    /// Read a part of a file.
    Read { file: u64, offset: u64, length: u32 },
    /// Wrote a part of a file.
    Write { file: u64, offset: u64, length: u64 },
    /// Wrote at the end of a file.
    Append { file: u64, length: u64 },
    /// Copied a part of a file into another one.
    Copy {
        file: u64,
        offset: u64,
        to: u64,
        to_offset: u64,
        length: u64,
    },
    /// Read the target of a symbolic link.
    ReadLink { file: u64 },
    /// Listed up to `entries` entries of a directory after a hash, with their attributes if
    /// `attributes`.
    ReadDirectory {
        file: u64,
        #[serde(default)]
        after: u64,
        entries: u32,
        #[serde(default, skip_serializing_if = "is_false")]
        attributes: bool,
    },
}

impl Operation {
    /// The files that it refers to and does not create or find itself.
    pub fn files(&self) -> impl Iterator<Item = u64> {
        let (one, other) = match *self {
            Self::Stat { directory, .. }
            | Self::Create { directory, .. }
            | Self::MakeDirectory { directory, .. }
            | Self::Symlink { directory, .. }
            | Self::Unlink { directory, .. }
            | Self::RemoveDirectory { directory, .. } => (directory, None),
            Self::Link {
                file, directory, ..
            } => (file, Some(directory)),
            Self::Rename {
                directory, new_in, ..
            } => (directory, Some(new_in)),
            Self::Copy { file, to, .. } => (file, Some(to)),
            Self::GetAttributes { file }
            | Self::SetAttributes { file, .. }
            | Self::Open { file }
            | Self::Close { file }
            | Self::Read { file, .. }
            | Self::Write { file, .. }
            | Self::Append { file, .. }
            | Self::ReadLink { file }
            | Self::ReadDirectory { file, .. } => (file, None),
        };
        [Some(one), other].into_iter().flatten()
    }

    /// The number of the file that it creates or finds, with the file's directory and name.
    pub const fn finds(&self) -> Option<(u64, u64, &Name)> {
        match self {
            Self::Stat {
                directory,
                name,
                file: Some(file),
            }
            | Self::Create {
                directory,
                name,
                file: Some(file),
                ..
            }
            | Self::MakeDirectory {
                directory,
                name,
                file: Some(file),
            }
            | Self::Symlink {
                directory,
                name,
                file: Some(file),
                ..
            } => Some((*file, *directory, name)),
            _ => None,
        }
    }

    /// The bytes of file data that it carries.
    pub const fn data_bytes(&self) -> u64 {
        match *self {
            Self::Create { length, .. }
            | Self::Write { length, .. }
            | Self::Append { length, .. } => length,
            _ => 0,
        }
    }

    /// The file that it writes, the offset unless it appends, and the most bytes.
    pub const fn writes(&self) -> Option<(u64, Option<u64>, u64)> {
        match *self {
            Self::Create {
                file: Some(file),
                length,
                ..
            } => Some((file, Some(0), length)),
            Self::Write {
                file,
                offset,
                length,
            } => Some((file, Some(offset), length)),
            Self::Append { file, length } => Some((file, None, length)),
            Self::Copy {
                to,
                to_offset,
                length,
                ..
            } => Some((to, Some(to_offset), length)),
            _ => None,
        }
    }
}
