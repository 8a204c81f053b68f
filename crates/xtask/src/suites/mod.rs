//! Suites: each takes directories of the file system under test and ends with a count of cases.

mod entries;
mod fio;
mod fsx;
mod hostile;
pub mod mounts;
mod pjdfstest;
pub mod tools;
mod widening;

use std::path::PathBuf;

use clap::Subcommand;

use crate::tally::Tally;

/// The suites and what they take.
#[derive(Subcommand)]
pub enum Suite {
    /// System calls against POSIX, 398 cases: none may fail, at most 16 may be skipped
    Pjdfstest {
        /// A directory of the file system under test
        directory: PathBuf,
    },
    /// Random reads, writes, mappings and truncations of one file, every byte compared
    Fsx(fsx::Fsx),
    /// Files written with checksums in many ways, and verified
    Fio(fio::Fio),
    /// Random operations through several mounts of one file system, compared with a model
    Mounts(mounts::Mounts),
    /// One directory with very many entries, used through several mounts at once
    Entries(entries::Entries),
    /// How a directory spreads over the servers of a mounted Futago as it grows
    Widening(widening::Widening),
    /// Hostile bytes against the servers of a mounted Futago
    Hostile(hostile::Hostile),
}

impl Suite {
    /// Runs the suite and prints the closing count; true if it passed.
    pub fn run(&self) -> anyhow::Result<bool> {
        let tally = match self {
            Self::Pjdfstest { directory } => pjdfstest::run(directory)?,
            Self::Fsx(fsx) => fsx.run()?,
            Self::Fio(fio) => fio.run()?,
            Self::Mounts(mounts) => mounts.run()?,
            Self::Entries(entries) => entries.run()?,
            Self::Widening(widening) => widening.run()?,
            Self::Hostile(hostile) => hostile.run()?,
        };
        println!("{tally}");
        Ok(tally.failed == 0 && tally != Tally::default())
    }
}
