//! The common command-line options of all models.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use crate::{Executor, Placement, Settings, Time, Watch};

/// How to run a model.
#[derive(Args, Clone, Debug)]
pub(super) struct RunOptions {
    /// The executor of the events; the results are the same.
    #[arg(long, value_enum, default_value = "sequential")]
    pub executor: ExecutorName,
    /// Threads (a rank) of the conservative and the optimistic executor.
    #[arg(long, default_value_t = 1)]
    pub threads: u32,
    /// Run together with the other processes of an mpirun.
    #[arg(long)]
    pub mpi: bool,
    /// Chooses all random numbers.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Stop at this simulated time, in seconds.
    #[arg(long, default_value_t = 100.0)]
    pub end: f64,
    /// How processes are spread over partitions.
    #[arg(long, value_enum, default_value = "block")]
    pub placement: PlacementName,
    /// Optimistic: events a thread executes between two computations of GVT.
    #[arg(long, default_value_t = 1024)]
    pub gvt_interval: u32,
    /// Optimistic: limit the memory of this process, in MiB.
    #[arg(long)]
    pub memory_mib: Option<u64>,
    /// Print the statistics as JSON.
    #[arg(long)]
    pub json: bool,
    /// Show progress even if standard error is not a terminal: a line a second.
    #[arg(long)]
    pub progress: bool,
    /// Write a time series of the run to this file, one JSON object a line (`.<rank>` is added
    /// under
    /// --mpi).
    #[arg(long)]
    pub series: Option<PathBuf>,
    /// Write all committed events to this file as CSV (`.<rank>` is added under --mpi).
    #[arg(long)]
    pub trace: Option<PathBuf>,
    /// Do not measure; check that every event can be undone.
    #[arg(long)]
    pub check: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ExecutorName {
    Sequential,
    Conservative,
    Optimistic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PlacementName {
    Block,
    RoundRobin,
    Hint,
}

impl RunOptions {
    /// The settings of the engine, with gauges.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        let mut settings = Settings {
            executor: match self.executor {
                ExecutorName::Sequential => Executor::Sequential,
                ExecutorName::Conservative => Executor::Conservative,
                ExecutorName::Optimistic => Executor::Optimistic,
            },
            threads: self.threads,
            placement: match self.placement {
                PlacementName::Block => Placement::Block,
                PlacementName::RoundRobin => Placement::RoundRobin,
                PlacementName::Hint => Placement::Hint,
            },
            seed: self.seed,
            end: positive_time("--end", self.end)?,
            gvt_interval: self.gvt_interval,
            trace: self.trace.is_some(),
            ..Settings::default()
        };
        if let Some(mebibytes) = self.memory_mib {
            let context = || format!("--memory-mib {mebibytes}");
            let bytes = mebibytes.saturating_mul(1 << 20);
            settings.stay_within(bytes).with_context(context)?;
        }
        settings.watch = Some(Arc::new(Watch::new(&settings)));
        Ok(settings)
    }
}

/// A time given in seconds.
pub(super) fn time(name: &str, seconds: f64) -> anyhow::Result<Time> {
    ensure!(
        (0.0..1e10).contains(&seconds),
        "{name} {seconds}: must be between 0 and 1e10 seconds"
    );
    Ok(Time::from_seconds(seconds))
}

fn positive_time(name: &str, seconds: f64) -> anyhow::Result<Time> {
    ensure!(
        seconds > 0.0,
        "{name} {seconds}: must be more than 0 seconds"
    );
    time(name, seconds).context("simulated time is counted in nanoseconds")
}
