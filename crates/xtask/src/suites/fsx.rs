//! fsx: random operations on one file, of which every read is compared with what must be there.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use clap::Args;

use crate::suites::tools;
use crate::tally::Tally;
use crate::workspace;

/// Arguments of the suite.
#[derive(Args)]
pub struct Fsx {
    /// How many operations a seed runs
    #[arg(long, default_value_t = 100_000)]
    operations: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds are run, one after another
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// A directory of the file system under test
    directory: PathBuf,
}

impl Fsx {
    /// Runs each seed on a file of its own; a seed is a case.
    pub fn run(&self) -> anyhow::Result<Tally> {
        (self.seed..self.seed + self.seeds)
            .map(|seed| self.run_seed(seed))
            .sum()
    }

    fn run_seed(&self, seed: u64) -> anyhow::Result<Tally> {
        let file = self.directory.join(format!("fsx-{seed}"));
        let ran = Command::new(tools::path("fsx")?)
            .arg("-f")
            .arg(workspace::root().join("tests/suites/fsx.toml"))
            .args([
                "-S",
                &seed.to_string(),
                "-N",
                &self.operations.to_string(),
                "-P",
            ])
            .arg(workspace::logs())
            .arg(&file)
            .output()
            .context("cannot run fsx")?;
        let passed = ran.status.success();
        let verdict = if passed { "passed" } else { "FAILED" };
        println!("seed {seed}, {} operations: {verdict}", self.operations);
        if !passed {
            println!("{}", String::from_utf8_lossy(&ran.stdout));
            println!("{}", String::from_utf8_lossy(&ran.stderr));
        }
        std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        Ok(Tally::of(passed))
    }
}
