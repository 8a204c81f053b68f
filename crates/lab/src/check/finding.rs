//! The findings of a check.

use futago_base::{BucketStart, ChunkId, FileId, Kind, Name, ServerId, record::Entry};
use futago_wire::inspection::Repair;
use std::fmt;

/// One inconsistency, and its repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The inconsistency.
    pub fault: Fault,
    /// The server with the faulty record.
    pub server: ServerId,
    /// The repairs, each with its server.
    pub repairs: Vec<(ServerId, Repair)>,
}

impl Finding {
    /// A finding that is repaired on its server.
    pub(super) fn at(server: ServerId, fault: Fault, repairs: Vec<Repair>) -> Self {
        Self {
            fault,
            server,
            repairs: repairs.into_iter().map(|repair| (server, repair)).collect(),
        }
    }
}

/// The fault of a record.
#[derive(Clone, Debug, PartialEq, Eq, strum::EnumDiscriminants)]
#[strum_discriminants(
    doc = "The sort of a fault; programs know it by a short constant name.",
    name(FaultKind),
    allow(missing_docs),
    derive(PartialOrd, Ord, strum::EnumIter, strum::IntoStaticStr),
    strum(serialize_all = "snake_case")
)]
pub enum Fault {
    /// The root directory has no inode.
    NoRoot,
    /// An inode is on a server that is not its home.
    MisplacedInode(FileId),
    /// An entry refers to a node that does not exist.
    DanglingEntry(FileId, Name, Entry),
    /// An entry records another kind than the inode.
    WrongKind(FileId, Name, Entry, Kind),
    /// An entry is in no bucket of its server.
    EntryWithoutBucket(FileId, Name, Entry),
    /// A directory has a second name.
    SecondName(FileId, Name, FileId),
    /// A node that counts names has none.
    LostInode(FileId, Kind),
    /// A node has no names, counts none and no client has it open.
    Orphan(FileId, Kind),
    /// A node counts (first) another number of names than it has (second).
    WrongLinks(FileId, u32, u32),
    /// A directory records a parent (second) other than the directory that contains it (third).
    WrongParent(FileId, Option<FileId>, FileId),
    /// A directory lies below itself.
    Loop(FileId),
    /// A directory has no bucket for the hashes from here on.
    MissingBucket(FileId, BucketStart),
    /// A bucket does not end before the next one begins.
    OverlappingBucket(FileId, BucketStart),
    /// A bucket of a node that is no directory, or with an impossible range.
    StrayBucket(FileId, BucketStart),
    /// A bucket is on a server where no client looks for it.
    MisplacedBucket(FileId, BucketStart),
    /// A header counts another number of entries and subdirectories (first) than there are
    /// (second).
    WrongCounts(FileId, BucketStart, (u64, u32), (u64, u32)),
    /// A chunk of a node that is no file.
    ChunkWithoutFile(ChunkId),
    /// A chunk that begins beyond the end of its file.
    ChunkBeyondEnd(ChunkId),
    /// A chunk is on a server where no client looks for it.
    MisplacedChunk(ChunkId),
    /// A chunk with data that its server does not serve; the latest truncation that the server has
    /// applied, `None` if the file is not admitted there.
    UnservedChunk(ChunkId, Option<u64>),
    /// A server takes chunks of a file that has none there.
    StrayAdmission(FileId),
    /// The chunks of a file on a server have applied another truncation (first) than the latest of
    /// the file (second).
    MissedTruncation(FileId, u64, u64),
}

impl Fault {
    /// The kind of the fault.
    pub fn kind(&self) -> FaultKind {
        self.into()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DanglingEntry(..)
            | Self::WrongKind(..)
            | Self::EntryWithoutBucket(..)
            | Self::SecondName(..) => self.describe_entry(f),
            Self::MissingBucket(..)
            | Self::OverlappingBucket(..)
            | Self::StrayBucket(..)
            | Self::MisplacedBucket(..)
            | Self::WrongCounts(..) => self.describe_bucket(f),
            Self::ChunkWithoutFile(chunk)
            | Self::ChunkBeyondEnd(chunk)
            | Self::MisplacedChunk(chunk)
            | Self::UnservedChunk(chunk, _) => self.describe_chunk(*chunk, f),
            _ => self.describe_node(f),
        }
    }
}

impl Fault {
    fn describe_node(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoot => write!(f, "the root directory has no inode"),
            Self::MisplacedInode(id) => write!(f, "inode {id} is not on its home server"),
            Self::LostInode(id, kind) => write!(f, "{kind:?} {id} has no name"),
            Self::Orphan(id, kind) => {
                write!(
                    f,
                    "{kind:?} {id} was removed and no client has it open, but it is still there"
                )
            }
            Self::WrongLinks(id, counted, found) => {
                write!(f, "inode {id} counts {counted} names, but has {found}")
            }
            Self::WrongParent(id, Some(parent), real) => {
                write!(
                    f,
                    "directory {id} says it lies in {parent}, but lies in {real}"
                )
            }
            Self::WrongParent(id, None, real) => {
                write!(f, "directory {id} does not know that it lies in {real}")
            }
            Self::Loop(id) => write!(f, "directory {id} lies below itself"),
            Self::StrayAdmission(id) => {
                write!(f, "chunks of {id} are taken, but it has none there")
            }
            Self::MissedTruncation(id, heard, latest) => write!(
                f,
                "chunks of file {id} have heard of truncation {heard}, but the latest is {latest}"
            ),
            _ => Ok(()),
        }
    }

    fn describe_entry(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::DanglingEntry(directory, name, _)
        | Self::WrongKind(directory, name, ..)
        | Self::EntryWithoutBucket(directory, name, _)
        | Self::SecondName(directory, name, _)) = self
        else {
            return Ok(());
        };
        write!(f, "{name} in directory {directory} ")?;
        match self {
            Self::DanglingEntry(.., entry) => {
                write!(f, "leads to inode {}, which does not exist", entry.id)
            }
            Self::WrongKind(.., entry, kind) => {
                write!(
                    f,
                    "says {:?}, but inode {} is a {kind:?}",
                    entry.kind, entry.id
                )
            }
            Self::SecondName(.., id) => write!(f, "is a second name of directory {id}"),
            _ => write!(f, "is in no bucket of its server"),
        }
    }

    fn describe_bucket(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::MissingBucket(directory, bucket)
        | Self::OverlappingBucket(directory, bucket)
        | Self::StrayBucket(directory, bucket)
        | Self::MisplacedBucket(directory, bucket)
        | Self::WrongCounts(directory, bucket, ..)) = self
        else {
            return Ok(());
        };
        write!(f, "bucket {:016x} of directory {directory} ", bucket.0)?;
        match self {
            Self::MissingBucket(..) => write!(f, "is missing"),
            Self::OverlappingBucket(..) => write!(f, "does not end before the next one begins"),
            Self::StrayBucket(..) => write!(f, "belongs to no directory"),
            Self::WrongCounts(.., counted, found) => write!(
                f,
                "counts {} entries and {} subdirectories, but has {} and {}",
                counted.0, counted.1, found.0, found.1
            ),
            _ => write!(f, "is on a server where no client looks for it"),
        }
    }

    fn describe_chunk(&self, chunk: ChunkId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChunkId { file, index } = chunk;
        match self {
            Self::ChunkWithoutFile(_) => {
                write!(f, "chunk {index} belongs to {file}, which is no file")
            }
            Self::ChunkBeyondEnd(_) => {
                write!(f, "chunk {index} of file {file} is beyond the file's end")
            }
            Self::UnservedChunk(..) => {
                write!(
                    f,
                    "chunk {index} of file {file} has data that its server does not serve"
                )
            }
            _ => write!(
                f,
                "chunk {index} of file {file} is on a server where no client looks for it"
            ),
        }
    }
}
