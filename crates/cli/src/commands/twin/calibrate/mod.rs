//! `futago twin calibrate`: measures this host through the real code, with one server and one
//! client, and writes a machine file.

mod costs;
mod disk;
mod machine_file;
mod measure;
mod memory;
mod recovery;
#[cfg(test)]
mod tests;
mod wake_up;

use crate::{exit::Exit, output, simulation::VERSION};
use anyhow::Context;
use clap::Args;
use costs::Costs;
pub use measure::Found;
use measure::{Measured, Rounds};
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `twin calibrate`.
#[derive(Args)]
pub struct Calibrate {
    /// Where to write the machine file. The disk that it is on is measured.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How often everything is measured; the file holds means of the middle half.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// Print what was measured as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A calibration that is under way, round by round.
pub struct Calibration {
    out: PathBuf,
    cores: usize,
    rounds: Rounds,
}

impl Calibration {
    /// One whose machine file is to be there, after what earlier rounds have found. The disk that
    /// it is on is measured.
    pub fn go_on(out: PathBuf, found: Found) -> anyhow::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let rounds = Rounds::new(cores, out.with_file_name(""), found)?;
        Ok(Self { out, cores, rounds })
    }

    /// The samples of all rounds.
    pub const fn found(&self) -> &Found {
        self.rounds.found()
    }

    /// Measures everything once more.
    pub fn measure(&mut self) -> anyhow::Result<()> {
        self.rounds.measure()
    }

    /// Writes the machine file. Returns its text, too.
    fn end(self) -> anyhow::Result<(Report, String)> {
        let measured = self.rounds.sum_up();
        let text = machine_file::text(&measured, &Costs::of(&measured), self.cores);
        std::fs::write(&self.out, &text)
            .with_context(|| format!("cannot write the machine {}", self.out.display()))?;
        let report = Report {
            version: VERSION,
            machine_hash: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes())),
            machine: self.out,
            cores: self.cores,
            measured,
        };
        Ok((report, text))
    }

    /// As above, for callers that need only the file.
    pub fn write(self) -> anyhow::Result<()> {
        self.end().map(drop)
    }
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
        let mut calibration = Calibration::go_on(self.out, Found::default())?;
        let bar = output::progress(u64::from(self.rounds), "rounds");
        for _ in 0..self.rounds {
            calibration.measure()?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        let (report, text) = calibration.end()?;
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
