//! `futago des phold`.

use std::io::Write;

use anyhow::ensure;
use clap::Args;

use super::compare;
use super::experiment::Experiment;
use super::run_options::{RunOptions, time};
use crate::models::phold::Phold;

#[derive(Args, Debug)]
pub(super) struct PholdArguments {
    /// The number of logical processes.
    #[arg(long, default_value_t = 1024)]
    lps: u32,
    /// Events each process starts with.
    #[arg(long, default_value_t = 1)]
    start_events: u32,
    /// The least delay of an event, in seconds.
    #[arg(long, default_value_t = 0.1)]
    lookahead: f64,
    /// The mean delay of an event, the lookahead included, in seconds.
    #[arg(long, default_value_t = 1.0)]
    mean: f64,
    /// The share of events that goes to a random process.
    #[arg(long, default_value_t = 0.25)]
    remote: f64,
    /// How many times slower the second half of the processes is.
    #[arg(long, default_value_t = 1.0)]
    skew: f64,
    /// Measure the bare loop, the sequential, the conservative and the optimistic executor one
    /// after the other; --threads (2 if not given) is for the last two.
    #[arg(long)]
    compare: bool,
    /// Rounds of --compare.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    #[command(flatten)]
    run: RunOptions,
}

impl PholdArguments {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let model = self.model()?;
        if self.compare {
            return compare::run_comparison(&model, &self.run, self.rounds, out);
        }
        let experiment = Experiment {
            name: "phold",
            model: &model,
            parameters: &model,
        };
        experiment.run(&self.run, out, |_| (), |_, _| ())
    }

    fn model(&self) -> anyhow::Result<Phold> {
        let (lookahead, mean) = (
            time("--lookahead", self.lookahead)?,
            time("--mean", self.mean)?,
        );
        ensure!(
            lookahead <= mean,
            "--lookahead {lookahead} is more than --mean {mean}"
        );
        ensure!(
            (0.0..=1.0).contains(&self.remote),
            "--remote {}: not between 0 and 1",
            self.remote
        );
        ensure!(self.skew > 0.0, "--skew {}: must be more than 0", self.skew);
        Ok(Phold {
            processes: self.lps,
            start_events: self.start_events,
            lookahead_s: self.lookahead,
            mean_s: self.mean,
            remote: self.remote,
            skew: self.skew,
        })
    }
}
