//! Benchmarks: a coordinator and client processes that talk over pipes, one JSON value a line.
//!
//! The coordinator says `Order`s, the clients answer with `Answer`s. All clients begin a phase at
//! once, and the next one only when all have ended it.

mod c_library;
pub mod client;
pub mod coordinator;
mod directory;
pub mod io500;
mod library;
mod perform;
mod process;
mod subject;
mod target;

use futago_lab::{
    io500::{Io500Phase, Io500Plan},
    statistics::ClientPhase,
    workload::{IoPhase, IoWorkload, MetadataPhase, MetadataWorkload},
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The file system that a benchmark measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Target {
    /// The cluster of this file, through the library.
    Cluster {
        /// The cluster file.
        file: PathBuf,
        /// Whether clients take leases, and keep data, attributes and names under them.
        leases: bool,
        /// How much data of one read or write is under way at a time, in bytes, if not as usual.
        window_bytes: Option<usize>,
    },
    /// A cluster, through a library with the interface of CHFS.
    CLibrary {
        /// The shared library.
        library: PathBuf,
        /// The server that `chfs_init` is given; for Futago a cluster file.
        cluster: PathBuf,
    },
    /// A directory, by system calls.
    Directory(PathBuf),
}

/// The kind of work.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Many small files.
    Metadata(MetadataWorkload),
    /// Large files.
    Io {
        /// The files to write and read.
        workload: IoWorkload,
        /// Whether all is read three times more.
        again: bool,
    },
    /// The IO500 benchmark.
    Io500(Io500Plan),
}

/// A phase of either kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Of many small files.
    Metadata(MetadataPhase),
    /// Of large files.
    Io(IoPhase),
    /// Of the IO500 benchmark.
    Io500(Io500Phase),
    /// The same files are read for the second time: a mount may fill the kernel's pages only now.
    Second,
    /// For the third time: Linux may move each page to those that are in use.
    Third,
    /// For the fourth time, which costs what every further one does.
    Fourth,
}

impl Work {
    /// The phases, in their order.
    pub fn phases(&self) -> Vec<Phase> {
        match self {
            Self::Metadata(workload) => {
                workload.phases().into_iter().map(Phase::Metadata).collect()
            }
            Self::Io { again, .. } => {
                let again: &[Phase] = if *again {
                    &[Phase::Second, Phase::Third, Phase::Fourth]
                } else {
                    &[]
                };
                [&IoPhase::ALL.map(Phase::Io), again].concat()
            }
            Self::Io500(_) => Io500Phase::ALL.map(Phase::Io500).to_vec(),
        }
    }
}

impl Phase {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metadata(phase) => phase.name(),
            Self::Io(phase) => phase.name(),
            Self::Io500(phase) => phase.name(),
            Self::Second => "read again",
            Self::Third => "and again",
            Self::Fourth => "once more",
        }
    }

    /// Phases with large files.
    pub const fn io(self) -> Option<IoPhase> {
        match self {
            Self::Metadata(_) | Self::Io500(_) => None,
            Self::Io(phase) => Some(phase),
            Self::Second | Self::Third | Self::Fourth => Some(IoPhase::Read),
        }
    }
}

/// A whole benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The work.
    pub work: Work,
    /// On what.
    pub target: Target,
    /// How many operations each client has under way.
    pub in_flight: u32,
}

/// A message of the coordinator to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// The client's number, and the measurement.
    Prepare {
        /// The benchmark.
        job: Job,
        /// The directory of this run, below the target.
        directory: String,
        /// The client's number.
        client: u32,
    },
    /// Run a phase now.
    Run(Phase),
    /// Go on from the stonewall, until this client has done so many operations.
    Continue(u64),
}

/// The reply of a client to an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Prepared.
    Ready,
    /// The stonewall is reached, after so many operations.
    Reached(u64),
    /// The phase has ended.
    Done(ClientPhase),
    /// It cannot go on.
    Failed(String),
}
