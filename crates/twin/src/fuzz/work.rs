//! The subjects of clients' operations, and how often each sort of operation is drawn for them.

use crate::random::Random;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Lookup,
    Create,
    CreateUnnamed,
    MakeDirectory,
    Unlink,
    RemoveDirectory,
    Rename,
    Exchange,
    Link,
    Attributes,
    SetAttributes,
    Truncate,
    Open,
    Close,
    Read,
    Write,
    Append,
    Allocate,
    Xattr,
    Lock,
    ReadDirectory,
    Parent,
    /// Only where nothing runs beside it: it is several operations, each by itself.
    SeekOrCopy,
}

/// How often each sort is drawn.
const WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Lookup, 8),
    (Sort::Create, 16),
    (Sort::CreateUnnamed, 2),
    (Sort::MakeDirectory, 9),
    (Sort::Unlink, 8),
    (Sort::RemoveDirectory, 6),
    (Sort::Rename, 14),
    (Sort::Exchange, 3),
    (Sort::Link, 7),
    (Sort::Attributes, 5),
    (Sort::SetAttributes, 5),
    (Sort::Truncate, 3),
    (Sort::Open, 3),
    (Sort::Close, 2),
    (Sort::Read, 4),
    (Sort::Write, 5),
    (Sort::Append, 3),
    (Sort::Allocate, 2),
    (Sort::Xattr, 4),
    (Sort::Lock, 4),
    (Sort::ReadDirectory, 5),
    (Sort::Parent, 1),
    (Sort::SeekOrCopy, 3),
];

/// The same where clients work on data rather than on names.
const DATA_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Create, 3),
    (Sort::Unlink, 1),
    (Sort::Attributes, 1),
    (Sort::Truncate, 6),
    (Sort::Open, 2),
    (Sort::Close, 2),
    (Sort::Read, 8),
    (Sort::Write, 10),
    (Sort::Append, 6),
    (Sort::Allocate, 4),
    (Sort::SeekOrCopy, 4),
];

/// The same for clients that read what others write.
const READING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Attributes, 2),
    (Sort::Open, 3),
    (Sort::Close, 1),
    (Sort::Read, 14),
];

/// The same for clients that look at one file, and change its attributes now and then.
const SHARING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Lookup, 2),
    (Sort::Attributes, 16),
    (Sort::SetAttributes, 3),
    (Sort::Open, 2),
    (Sort::Close, 1),
];

/// The same for clients that move directories.
const MOVING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Rename, 12),
    (Sort::Exchange, 2),
    (Sort::MakeDirectory, 2),
    (Sort::RemoveDirectory, 1),
    (Sort::Lookup, 2),
    (Sort::Parent, 1),
];

/// The same for clients that fill and remove the same directories.
const CONTENDING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::MakeDirectory, 4),
    (Sort::Create, 6),
    (Sort::RemoveDirectory, 5),
    (Sort::Rename, 4),
    (Sort::Unlink, 2),
];

/// The same for clients that make directories.
const PLANTING_WEIGHTS: &[(Sort, u64)] = &[(Sort::MakeDirectory, 1)];

/// The same for clients that add to a file again and again.
const APPENDING_WEIGHTS: &[(Sort, u64)] = &[(Sort::Append, 1)];

/// The same for a client that also cuts the file now and then.
const CYCLING_WEIGHTS: &[(Sort, u64)] = &[(Sort::Append, 20), (Sort::Truncate, 2), (Sort::Read, 1)];

/// The same for a client that has a file shrink and grow.
const CUTTING_WEIGHTS: &[(Sort, u64)] = &[
    (Sort::Truncate, 8),
    (Sort::Write, 6),
    (Sort::Append, 2),
    (Sort::Read, 5),
];

/// The same for clients that lock a file.
const LOCKING_WEIGHTS: &[(Sort, u64)] = &[(Sort::Lock, 10), (Sort::Close, 1)];

/// The main subject of a client's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Names of files and directories.
    Names,
    /// Data, most of which it changes.
    Data,
    /// Data that it reads.
    Reading,
    /// Attributes, most of which it reads.
    Sharing,
    /// A file that it has shrink and grow.
    Cutting,
    /// Directories that it moves.
    Moving,
    /// Directories that it fills and removes, as others do.
    Contending,
    /// Locks of a file that others lock, too.
    Locking,
    /// Directories that it makes, below one another.
    Planting,
    /// A file that it opens, adds to and closes.
    Appending,
    /// The same, and it cuts the file now and then.
    Cycling,
}

impl Work {
    const fn weights(self) -> &'static [(Sort, u64)] {
        match self {
            Self::Names => WEIGHTS,
            Self::Data => DATA_WEIGHTS,
            Self::Reading => READING_WEIGHTS,
            Self::Sharing => SHARING_WEIGHTS,
            Self::Cutting => CUTTING_WEIGHTS,
            Self::Moving => MOVING_WEIGHTS,
            Self::Contending => CONTENDING_WEIGHTS,
            Self::Locking => LOCKING_WEIGHTS,
            Self::Planting => PLANTING_WEIGHTS,
            Self::Appending => APPENDING_WEIGHTS,
            Self::Cycling => CYCLING_WEIGHTS,
        }
    }
    /// The sort of a step of a client that is `alone` or not.
    pub(super) fn draw(self, random: &mut Random, alone: bool) -> Sort {
        let weights = self.weights().iter();
        let sorts = weights.filter(|(sort, _)| alone || *sort != Sort::SeekOrCopy);
        let total = sorts.clone().map(|(_, weight)| weight).sum();
        let mut left = random.below(total);
        for &(sort, weight) in sorts {
            if left < weight {
                return sort;
            }
            left -= weight;
        }
        Sort::Lookup
    }
}
