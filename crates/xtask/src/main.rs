//! Commands for continuous integration and developers: `cargo xtask ci`, `cargo xtask proof`,
//! `cargo xtask docs`, `cargo xtask words`, `cargo xtask suite NAME DIRECTORY...`.
//!
//! A check is a *step*: a command with a time limit, which prints how many cases passed, failed and
//! were skipped. Two tables hold the steps, [`ci::STEPS`] and [`proof::STEPS`]. A *suite* takes
//! directories, so that it runs on tmpfs or ext4 as well as on a mount of `tests/with-futago`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's program may end with its reader"
)]

mod ci;
mod docs;
mod proof;
mod step;
mod suites;
mod tally;
mod words;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks, suites and proofs of Futago.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check of a change; the steps to run can be named
    Ci {
        /// Names of the steps to run (all of them by default)
        steps: Vec<String>,
    },
    /// Run everything that takes longer, and write a dated report
    Proof {
        /// Names of the steps to run (all of them by default)
        steps: Vec<String>,
    },
    /// Check the documents and build the book; `UPDATE_GOLDEN=1` rewrites the reference of the
    /// commands
    Docs,
    /// Run one suite on directories of the file system under test
    #[command(subcommand)]
    Suite(suites::Suite),
    /// Check the wording of comments and identifiers
    Words {
        /// Crates to check as if they were done already
        crates: Vec<String>,
    },
    /// Build the programs that the suites run, at their pinned versions
    Tools,
    /// Serve one directory of the `mounts` suite
    #[command(hide = true)]
    Agent {
        /// The directory in which the operations happen
        directory: PathBuf,
    },
}

fn main() -> anyhow::Result<ExitCode> {
    let succeeded = match Arguments::parse().command {
        Command::Ci { steps } => ci::run(&steps)?,
        Command::Proof { steps } => proof::run(&steps)?,
        Command::Docs => docs::run()?,
        Command::Suite(suite) => suite.run()?,
        Command::Words { crates } => words::run(&crates)?,
        Command::Tools => suites::tools::install().map(|()| true)?,
        Command::Agent { directory } => suites::mounts::agent::serve(&directory).map(|()| true)?,
    };
    Ok(if succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
