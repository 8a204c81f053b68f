//! fio: files written in many ways with checksums in them, read back and verified.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use clap::Args;
use serde::Deserialize;

use crate::tally::Tally;
use crate::workspace;

/// Arguments of the suite.
#[derive(Args)]
pub struct Fio {
    /// The size of each job's file, with fio's suffixes
    #[arg(long, default_value = "64m")]
    size: String,
    /// A directory of the file system under test
    directory: PathBuf,
}

#[derive(Deserialize)]
struct Report {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    /// An errno, 0 for success.
    error: i32,
    read: Traffic,
    write: Traffic,
}

#[derive(Deserialize)]
struct Traffic {
    io_bytes: u64,
}

impl Fio {
    /// Runs the jobs of `verify.fio`; a job is a case.
    pub fn run(&self) -> anyhow::Result<Tally> {
        let place = self.directory.join("fio");
        fs::create_dir(&place).with_context(|| format!("cannot create {}", place.display()))?;
        let ran = Command::new("fio")
            .arg("--output-format=json")
            .arg(format!("--size={}", self.size))
            .arg(format!("--directory={}", place.display()))
            .arg(workspace::root().join("tests/suites/verify.fio"))
            .output()
            .context("cannot run fio")?;
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
        let errors = String::from_utf8_lossy(&ran.stderr);
        let output = String::from_utf8_lossy(&ran.stdout);
        // Messages of fio about failed checks stand before and after the report.
        let json = output
            .find('{')
            .zip(output.rfind('}'))
            .map(|(first, last)| &output[first..=last]);
        let report: Report = serde_json::from_str(json.unwrap_or_default())
            .with_context(|| format!("fio gave no report\n{output}\n{errors}"))?;
        let tally = report.jobs.iter().map(judge).sum::<Tally>();
        if !ran.status.success() {
            println!("{errors}");
            return Ok(tally
                + Tally {
                    failed: u64::from(tally.failed == 0),
                    ..Tally::default()
                });
        }
        Ok(tally)
    }
}

/// A job has passed if it reports no error and has read something back.
fn judge(job: &Job) -> Tally {
    let passed = job.error == 0 && job.read.io_bytes > 0 && job.write.io_bytes > 0;
    let verdict = if passed { "passed" } else { "FAILED" };
    println!(
        "{:<26} {:>12} bytes written, {:>12} read: {verdict} {}",
        job.jobname,
        job.write.io_bytes,
        job.read.io_bytes,
        if job.error == 0 {
            String::new()
        } else {
            format!("(error {})", job.error)
        }
    );
    Tally::of(passed)
}
