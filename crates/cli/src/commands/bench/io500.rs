//! `futago bench io500`: all phases of the IO500 benchmark, its scores and its result files.

use super::usage;
use crate::{
    bench::{Job, Target, Work, io500::coordinator},
    exit::Exit,
    output,
};
use anyhow::Context;
use bytesize::ByteSize;
use clap::Args;
use futago_lab::io500::{
    Io500Limits, Io500Plan, Io500Score, PhaseOutcome, STONEWALL_S_VALID, result, summary,
};
use serde::Serialize;
use std::{fs, path::PathBuf};

/// Arguments of `bench io500`.
#[derive(Args)]
pub struct Io500 {
    /// The cluster file that `futago up` wrote.
    #[arg(long, value_name = "FILE", env = "FUTAGO_CLUSTER")]
    cluster: Option<PathBuf>,
    /// Measure this directory (a mount, tmpfs, ext4) by system calls, instead of the library.
    #[arg(long, value_name = "DIR", conflicts_with = "c_library")]
    path: Option<PathBuf>,
    /// Measure through this shared library with the interface of CHFS, such as libchfs.so.0.
    #[arg(long, value_name = "FILE", requires = "cluster")]
    c_library: Option<PathBuf>,
    /// Have the library's clients take leases, under which they cache data, attributes and names.
    #[arg(long, conflicts_with_all = ["path", "c_library"])]
    leases: bool,
    /// How many client processes there are. The rules call them ranks.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: u32,
    /// The time limit of writing phases, in seconds. A run with less than 300 is not valid.
    #[arg(long, value_name = "SECONDS", default_value_t = STONEWALL_S_VALID,
        value_parser = clap::value_parser!(u32).range(1..=86_400))]
    stonewall: u32,
    /// The most data that a client writes in each of ior-easy and ior-hard, for systems with little
    /// memory.
    #[arg(long, value_name = "BYTES")]
    limit_size: Option<ByteSize>,
    /// The most files that a client makes in each of mdtest-easy and mdtest-hard.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    limit_files: Option<u64>,
    /// Write result.txt and result_summary.txt into this directory, which is made.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Report {
    valid: bool,
    target: String,
    clients: u32,
    stonewall_s: u32,
    phases: Vec<PhaseOutcome>,
    score: Io500Score,
}

const VERSION: &str = concat!("futago-", env!("CARGO_PKG_VERSION"));

impl Io500 {
    /// Measures.
    pub fn run(self) -> anyhow::Result<Exit> {
        let plan = self.plan();
        let job = Job {
            work: Work::Io500(plan),
            target: self.target()?,
            in_flight: 1,
        };
        let phases = coordinator::run(&job, &plan)?;
        let score = Io500Score::new(&phases);
        if let Some(directory) = &self.out {
            write_results(directory, &plan, &phases, &score)?;
        }
        let report = Report {
            valid: phases.iter().all(|phase| phase.invalid.is_empty()),
            target: super::report::described(&job.target),
            clients: plan.ranks,
            stonewall_s: plan.stonewall_s,
            phases,
            score,
        };
        output::print(self.json, &report, text)?;
        Ok(Exit::Success)
    }

    fn plan(&self) -> Io500Plan {
        let official = Io500Limits::OFFICIAL;
        let transfers = |most: u64, bytes: u64| match self.limit_size {
            Some(size) => (size.as_u64() / bytes).clamp(1, most),
            None => most,
        };
        Io500Plan {
            ranks: self.clients,
            stonewall_s: self.stonewall,
            limits: Io500Limits {
                easy_transfers: transfers(official.easy_transfers, Io500Plan::EASY_TRANSFER_BYTES),
                hard_transfers: transfers(official.hard_transfers, Io500Plan::HARD_TRANSFER_BYTES),
                files: self.limit_files.unwrap_or(official.files),
            },
        }
    }

    fn target(&self) -> anyhow::Result<Target> {
        let absolute = |path: &PathBuf| std::path::absolute(path);
        Ok(match (&self.path, &self.c_library, &self.cluster) {
            (Some(path), ..) => Target::Directory(absolute(path)?),
            (None, Some(library), Some(cluster)) => Target::CLibrary {
                library: library.clone(),
                cluster: absolute(cluster)?,
            },
            (None, None, Some(cluster)) => Target::Cluster {
                file: absolute(cluster)?,
                leases: self.leases,
                window_bytes: None,
            },
            (None, _, None) => {
                return Err(usage("say what to measure: --cluster FILE or --path DIR"));
            }
        })
    }
}

fn write_results(
    directory: &PathBuf,
    plan: &Io500Plan,
    phases: &[PhaseOutcome],
    score: &Io500Score,
) -> anyhow::Result<()> {
    let write = |name: &str, text: String| fs::write(directory.join(name), text);
    let made = fs::create_dir_all(directory);
    let written = made
        .and_then(|()| write("result.txt", result(plan, VERSION, phases, score)))
        .and_then(|()| write("result_summary.txt", summary(VERSION, phases, score)));
    written.with_context(|| format!("writing the results into {}", directory.display()))
}

/// The official summary, and why phases do not count.
fn text(report: &Report) -> String {
    let mut text = summary(VERSION, &report.phases, &report.score);
    for phase in &report.phases {
        for why in &phase.invalid {
            text += &format!("{} is invalid: {why}\n", phase.phase.name());
        }
    }
    text
}
