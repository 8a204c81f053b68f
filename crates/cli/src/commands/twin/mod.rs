//! `futago twin`: clusters that do not exist.

mod calibrate;
mod compare;
mod fuzz;
mod run;
mod spread;

use crate::exit::Exit;
use clap::{Args, Subcommand};

/// Arguments of `twin`.
#[derive(Args)]
pub struct Twin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario and tell how fast it was, and what was the bottleneck.
    Run(run::Run),
    /// Measure this host through the real code and write a machine file.
    Calibrate(calibrate::Calibrate),
    /// Run a workload on a real cluster on this host and in the twin, side by side.
    Compare(compare::Compare),
    /// Break simulated clusters, seed after seed, and check everything that can be checked.
    Fuzz(fuzz::Fuzz),
}

impl Twin {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        match &self.command {
            Command::Run(run) => run.json,
            Command::Calibrate(calibrate) => calibrate.json,
            Command::Compare(compare) => compare.json,
            Command::Fuzz(fuzz) => fuzz.json,
        }
    }

    /// Simulates.
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Run(run) => run.run(),
            Command::Calibrate(calibrate) => calibrate.run(),
            Command::Compare(compare) => compare.run(),
            Command::Fuzz(fuzz) => fuzz.run(),
        }
    }
}
