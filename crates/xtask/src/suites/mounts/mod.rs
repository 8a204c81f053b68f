//! Random operations through several mounts of one file system, every result and the whole tree
//! compared with a plain model.
//!
//! Each directory has a process of its own (an [`agent`]), because locks belong to processes. A
//! [`generate`]d round is one operation through one directory, or one through each of them at the
//! same time. The [`model`] must explain the results: for concurrent operations, by one of their
//! possible orders. So a change through one mount must be visible at once through the others. The
//! operations depend only on the seed.

pub mod agent;
mod check;
mod generate;
mod locks;
mod model;
mod operation;
mod resolve;

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use clap::Args;

use crate::tally::Tally;

/// Arguments of the suite.
#[derive(Args)]
pub struct Mounts {
    /// The first seed; give the one that failed, and --seeds 1, to run its operations again
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds are run, one after another
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// How many rounds a seed runs
    #[arg(long, default_value_t = 2000)]
    rounds: u64,
    /// Only one operation at a time, so that a failure does not depend on timing
    #[arg(long)]
    alternate: bool,
    /// Two or more mounts of the same file system (or two paths of one directory)
    #[arg(required = true, num_args = 2..)]
    directories: Vec<PathBuf>,
}

impl Mounts {
    /// Runs each seed in a new directory; a seed is a case.
    pub fn run(&self) -> anyhow::Result<Tally> {
        if self.directories.len() > 5 {
            bail!("at most 5 directories: all orders of operations at the same time are tried");
        }
        (self.seed..self.seed + self.seeds)
            .map(|seed| self.run_seed(seed))
            .sum()
    }

    fn run_seed(&self, seed: u64) -> anyhow::Result<Tally> {
        let name = format!("mounts-{seed}");
        let place = self.directories[0].join(&name);
        std::fs::create_dir(&place)
            .with_context(|| format!("cannot create {}", place.display()))?;
        let places: Vec<_> = self
            .directories
            .iter()
            .map(|each| each.join(&name))
            .collect();
        let verdict = match places.iter().find(|each| !each.is_dir()) {
            Some(unseen) => Err(anyhow!("{} is not there at once", unseen.display())),
            None => check::run(&places, seed, self.rounds, self.alternate),
        };
        std::fs::remove_dir_all(&place)
            .with_context(|| format!("cannot remove {}", place.display()))?;
        match &verdict {
            Ok(done) => println!("seed {seed}: {done}"),
            Err(failure) => println!("seed {seed}: FAILED, {failure:#}\n"),
        }
        Ok(Tally::of(verdict.is_ok()))
    }
}
