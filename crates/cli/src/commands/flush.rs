//! `futago flush`: writes changes back to the backing store.

use crate::{
    cluster::{ClusterFile, backing},
    exit::{Exit, Failures},
    output,
};
use anyhow::{Context, anyhow};
use clap::Args;
use futago_staging::{Failure, Pass};
use serde::Serialize;

/// Arguments of `flush`.
///
/// Everything that was written before, as far as its writer has synchronized or closed it, is in
/// the backing directory when the command ends with 0.
#[derive(Args)]
pub struct Flush {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The outcome of a flush.
#[derive(Serialize)]
pub struct Report {
    complete: bool,
    files: u64,
    bytes: u64,
    unflushed_files: u64,
    unflushed_bytes: u64,
    failures: Vec<String>,
}

impl From<Pass> for Report {
    fn from(pass: Pass) -> Self {
        let unflushed = pass.unflushed;
        Self {
            complete: unflushed.files == 0 && unflushed.failures.is_empty(),
            files: pass.files,
            bytes: pass.bytes,
            unflushed_files: unflushed.files,
            unflushed_bytes: unflushed.bytes,
            failures: unflushed.failures.iter().map(Failure::to_string).collect(),
        }
    }
}

impl Report {
    /// Whether everything is in the directory.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Prints the failures.
    pub fn print_failures(&self) {
        let mut failures = Failures::default();
        for failure in &self.failures {
            failures.tell(&anyhow!(failure.clone()));
        }
    }

    /// A line for people.
    pub fn text(&self) -> String {
        let written = output::counted(self.files, "change", "changes");
        let bytes = output::size(self.bytes);
        let left = output::counted(self.unflushed_files, "change is", "changes are");
        match self.complete {
            true => format!("{written} written back, {bytes}\n"),
            false => format!("{written} written back, {bytes}; {left} not in the directory\n"),
        }
    }
}

impl Flush {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Flushes.
    pub fn run(self) -> anyhow::Result<Exit> {
        let cluster = self.cluster.load()?;
        cluster
            .backing
            .as_ref()
            .context("the cluster has no backing store; see futago up --backing")?;
        let report = Report::from(backing::flush(&self.cluster, &cluster)?);
        report.print_failures();
        output::print(self.json, &report, Report::text)?;
        Ok(match report.is_complete() {
            true => Exit::Success,
            false => Exit::Wrong,
        })
    }
}
