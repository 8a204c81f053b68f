//! `futago twin calibrate`: measures this host through the real code, with one server and one
//! client, and writes a machine file.

mod cores;
mod costs;
mod disk;
mod machine_file;
mod measure;
mod memory;
#[cfg(test)]
mod tests;
mod wake_up;

use crate::{exit::Exit, output, simulation::VERSION};
use anyhow::Context;
use clap::Args;
use costs::Costs;
use disk::Disk;
use measure::Measured;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `twin calibrate`.
#[derive(Args)]
pub struct Calibrate {
    /// Where to write the machine file. The disk that it is on is measured.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How often everything is measured; the file holds medians.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// Print what was measured as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    machine: PathBuf,
    machine_hash: String,
    cores: usize,
    measured: Measured,
}

impl Calibrate {
    /// Measures and writes.
    pub fn run(self) -> anyhow::Result<Exit> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let disk = Disk::beside(&self.out)?;
        let measured = measure::measure(self.rounds, cores, &disk)?;
        let text = machine_file::text(&measured, &Costs::of(&measured), cores);
        std::fs::write(&self.out, &text)
            .with_context(|| format!("cannot write the machine {}", self.out.display()))?;
        let report = Report {
            version: VERSION,
            machine_hash: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes())),
            machine: self.out,
            cores,
            measured,
        };
        output::print(self.json, &report, |report| {
            format!(
                "{text}\n{}: {}\n",
                report.machine.display(),
                report.machine_hash
            )
        })?;
        Ok(Exit::Success)
    }
}
