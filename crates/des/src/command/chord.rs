//! `futago des chord`.

use std::io::Write;

use anyhow::ensure;
use clap::Args;
use serde::Serialize;

use super::experiment::Experiment;
use super::run_options::RunOptions;
use crate::models::chord::{Chord, Lookups, Settings, measure};
use crate::watch::Statistics;

#[derive(Args, Debug)]
pub(super) struct ChordArguments {
    /// The number of nodes.
    #[arg(long, default_value_t = 1000)]
    nodes: u32,
    /// The least delay of a message, in seconds.
    #[arg(long, default_value_t = 0.01)]
    lookahead: f64,
    /// The mean delay of a message, in seconds.
    #[arg(long, default_value_t = 0.05)]
    delay: f64,
    /// Mean time between two lookups of a node, in seconds.
    #[arg(long, default_value_t = 60.0)]
    lookup_every: f64,
    /// Mean time that a node is present, and away, in seconds; without it no node leaves.
    #[arg(long)]
    lifetime: Option<f64>,
    #[command(flatten)]
    run: RunOptions,
}

#[derive(Serialize)]
struct Results {
    lookups: u64,
    failed: u64,
    found_right: u64,
    mean_hops: f64,
    /// log2(N)/2, as the paper derives.
    expected_hops: f64,
    mean_latency_s: f64,
    /// Simulated seconds per second.
    times_real_time: f64,
}

impl ChordArguments {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let model = self.model()?;
        let experiment = Experiment {
            name: "chord",
            model: &model,
            parameters: model.settings(),
        };
        experiment.run(&self.run, out, measure, |seen, statistics| {
            self.results(&seen.iter().sum(), statistics)
        })
    }

    fn results(&self, lookups: &Lookups, statistics: &Statistics) -> Results {
        Results {
            lookups: lookups.found + lookups.failed,
            failed: lookups.failed,
            found_right: lookups.found_right,
            mean_hops: lookups.mean_hops(),
            expected_hops: f64::from(self.nodes).log2() / 2.0,
            mean_latency_s: lookups.mean_latency_s(),
            times_real_time: self.run.end / statistics.wall_s,
        }
    }

    fn model(&self) -> anyhow::Result<Chord> {
        ensure!(
            self.lookahead >= 0.0,
            "--lookahead {}: must not be negative",
            self.lookahead
        );
        ensure!(
            self.delay >= self.lookahead,
            "--delay {} is less than --lookahead",
            self.delay
        );
        ensure!(
            self.lookup_every > 0.0,
            "--lookup-every must be more than 0"
        );
        ensure!(
            self.lifetime.is_none_or(|mean| mean > 0.0),
            "--lifetime must be more than 0"
        );
        Ok(Chord::new(Settings {
            nodes: self.nodes,
            lookahead_s: self.lookahead,
            delay_s: self.delay,
            lookup_every_s: self.lookup_every,
            lifetime_s: self.lifetime,
            ..Settings::default()
        }))
    }
}
