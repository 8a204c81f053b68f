//! The files of clients and their work.

use crate::world::{Arrivals, Latency};
use futago_des::{
    RandomStream,
    random::{Distribution, Zipf},
};
use futago_lab::workload::{IoPhase, IoWorkload, Trace};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A directory below the root that exists from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Its name.
    pub name: String,
    /// How many buckets its names are spread over, a power of two. A small directory has 1; one
    /// that has grown over *s* servers has at least *s*. Buckets are dealt out by the cluster map:
    /// many more buckets than servers make the shares even.
    pub buckets: u64,
    /// Clients know the buckets from the start and need not learn them by asking the wrong one.
    pub known: bool,
    /// The names of the clients' files in it.
    pub names: FileNames,
}

/// Empty directories below the root that belong to one client each: its first directories in
/// [`Place::Root`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WideDirectories {
    /// How many each client has.
    pub each: u64,
    /// How many buckets each has, a power of two.
    pub buckets: u64,
}

impl Default for WideDirectories {
    fn default() -> Self {
        Self {
            each: 0,
            buckets: 1,
        }
    }
}

/// The names of clients' files in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileNames {
    /// By client and number. The hash of the protocol deals them out to servers as if at random.
    #[default]
    Numbered,
    /// By client, number, and what makes the hash of the protocol deal a client's files out to the
    /// servers one after the other; each client begins with another server.
    RoundRobin,
}

/// An operation of a client.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumIter,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OperationKind {
    /// Makes a file.
    Create,
    /// Asks for the attributes of one of the files by its name in the directory.
    Stat,
    /// The same by a path from the root.
    Lookup,
    /// Lists up to a thousand names, from a random place on.
    ReadDirectory,
    /// Removes the oldest of the client's files.
    Unlink,
    /// Makes a directory.
    MakeDirectory,
    /// Removes the oldest of the client's directories.
    RemoveDirectory,
    /// Gives the oldest of the client's files a new name.
    Rename,
    /// Gives one of the files another name.
    Link,
    /// Exchanges two of the files.
    Exchange,
    /// Changes the permissions of the phase's directory.
    SetAttributes,
    /// Searches the tree below the phase's directory at the servers, and counts files by name and
    /// size.
    Find,
    /// Opens one of the files by a path from the root, and closes it.
    OpenClose,
    /// Reads the whole of one of the files, by its name in the directory.
    ReadFile,
    /// Writes a part of a file; not in a [`Mix`], and neither is any of the following ones.
    Write,
    /// Reads a part of a file.
    Read,
    /// Writes at the end of a file.
    Append,
    /// Opens a file.
    Open,
    /// Closes a file.
    Close,
    /// Asks for the attributes of a file that has been found.
    GetAttributes,
    /// Makes a symbolic link.
    Symlink,
    /// Asks for a symbolic link's target.
    ReadLink,
    /// Copies a part of a file into another one.
    Copy,
}

/// Where a phase takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// All clients use this one of [`Setup::directories`].
    Shared(usize),
    /// Each client has a directory below the root to itself, which it makes beforehand.
    Own,
    /// The root.
    Root,
}

impl Place {
    /// A number for each place: these two first, then the shared directories.
    pub const fn index(self) -> usize {
        match self {
            Self::Own => 0,
            Self::Root => 1,
            Self::Shared(number) => 2 + number,
        }
    }
}

/// How long a phase lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// Each client performs so many operations; all of the phase is measured.
    Operations(u64),
    /// Clients begin operations for this long. Operations after the warm-up are measured.
    Duration {
        /// From the beginning of the phase until it is measured.
        warm_up_ns: u64,
        /// For how long it is measured.
        measured_ns: u64,
    },
}

/// The work of clients in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Operations on names.
    Names(Mix),
    /// Transfers of large files.
    Data(Data),
    /// A recorded run: each of its processes is a client, in their order.
    Trace(Arc<Trace>),
}

/// Operations on names. A client without a file to unlink, stat or rename creates one instead, and
/// a client without a directory to remove makes one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    /// The operations, with weights.
    pub operations: Vec<(OperationKind, u32)>,
    /// So many files of the place, made beforehand, belong to all clients together. Where there are
    /// any, operations that choose a file are about them and not about the client's own.
    pub common: u64,
    /// How a file is chosen where any will do.
    pub popularity: Popularity,
    /// The data of files that are created or read, in bytes.
    pub file_bytes: u32,
}

/// How often each of several files is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Popularity {
    /// All as often.
    #[default]
    Uniform,
    /// The one of rank *k* as often as *k* to the power of minus this; the oldest has rank 1.
    Zipf(f64),
}

impl Popularity {
    /// The rank of one of so many, from 0.
    pub(in crate::world) fn draw(self, count: u64, random: &mut RandomStream) -> u64 {
        match self {
            Self::Uniform => random.below(count),
            Self::Zipf(exponent) => Zipf::new(count, exponent).sample(random) as u64 - 1,
        }
    }

    /// Whether it can be drawn from.
    pub(in crate::world) fn is_valid(self) -> bool {
        match self {
            Self::Uniform => true,
            Self::Zipf(exponent) => exponent > 0.0 && exponent.is_finite(),
        }
    }
}

impl OperationKind {
    /// Whether it can be in a [`Mix`].
    pub fn is_mixed(self) -> bool {
        self < Self::Write
    }

    /// Whether it changes nothing.
    pub(in crate::world) const fn reads(self) -> bool {
        matches!(
            self,
            Self::Stat | Self::Lookup | Self::OpenClose | Self::ReadDirectory | Self::Find
        )
    }

    /// Whether it is about any of several files, by [`Popularity`].
    pub const fn chooses(self) -> bool {
        matches!(
            self,
            Self::Stat
                | Self::Lookup
                | Self::OpenClose
                | Self::ReadFile
                | Self::Link
                | Self::Exchange
        )
    }
}

impl From<Vec<(OperationKind, u32)>> for Mix {
    fn from(operations: Vec<(OperationKind, u32)>) -> Self {
        Self {
            operations,
            ..Self::default()
        }
    }
}

/// Transfers of large files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// Whether they are written or read.
    pub phase: IoPhase,
    /// Which files, in which pieces and order.
    pub workload: IoWorkload,
    /// Every client writes its data before the phase: what is read must be there.
    pub fill: bool,
    /// All clients together read a common file once, in an order that depends on the phase's
    /// number.
    pub shuffled: bool,
}

impl Data {
    /// Whether all clients read the data of the first one, which alone prepares it: then that is
    /// the only client of the workload.
    pub const fn is_common(&self) -> bool {
        self.workload.clients == 1
    }

    /// The number of transfers of each of so many clients.
    pub fn transfer_count(&self, clients: u32) -> u64 {
        let all = self.workload.transfer_count();
        match self.shuffled {
            true => all.div_ceil(clients.max(1).into()),
            false => all,
        }
    }
}

/// One phase of the workload. A client has one operation under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The name in reports.
    pub name: String,
    /// Where.
    pub place: Place,
    /// The activity.
    pub activity: Activity,
    /// How much.
    pub amount: Amount,
    /// The time between an operation's end and the beginning of the next one.
    pub think: Latency,
    /// When operations arrive, if it is not the end of the one before and `think` that decides (a
    /// closed loop).
    pub arrivals: Option<Arrivals>,
}
