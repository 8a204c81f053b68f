//! `futago des phold --compare`: all executors and the bare loop, in one invocation.

use std::io::{self, Write};

use anyhow::ensure;
use serde::Serialize;

use super::run_options::RunOptions;
use crate::models::phold::{Phold, bare_loop};
use crate::{Executor, Settings, run};

#[derive(Serialize)]
struct Comparison {
    processes: u32,
    start_events: u32,
    threads: u32,
    rounds: u32,
    digest: String,
    bare_loop: Measured,
    sequential: Measured,
    conservative: Measured,
    optimistic: Measured,
    ratios: Ratios,
}

/// Events per second in every round, and their median.
#[derive(Default, Serialize)]
struct Measured {
    events_per_s: f64,
    every_round: Vec<f64>,
    efficiency: Vec<f64>,
}

/// Medians of the ratios within each round, which are least sensitive to noise.
#[derive(Serialize)]
struct Ratios {
    sequential_to_bare_loop: f64,
    conservative_to_sequential: f64,
    optimistic_to_sequential: f64,
}

pub(super) fn run_comparison(
    model: &Phold,
    options: &RunOptions,
    rounds: u32,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    ensure!(rounds > 0, "--rounds must be at least 1");
    let mut settings = options.settings()?;
    settings.threads = settings.threads.max(2);
    let mut table: [Measured; 4] = Default::default();
    let mut digest = String::new();
    for _ in 0..rounds {
        let (events, seconds) = bare_loop(model, options.end, options.seed);
        table[0].every_round.push(events as f64 / seconds.max(1e-9));
        let executors = [
            Executor::Sequential,
            Executor::Conservative,
            Executor::Optimistic,
        ];
        for (measured, executor) in table[1..].iter_mut().zip(executors) {
            measured.measure(
                model,
                Settings {
                    executor,
                    ..settings.clone()
                },
                &mut digest,
            )?;
        }
    }
    let comparison = Comparison::new(model, &settings, digest, table);
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&comparison)?)?;
    } else {
        comparison.print(out)?;
    }
    Ok(())
}

impl Measured {
    fn measure(
        &mut self,
        model: &Phold,
        settings: Settings,
        digest: &mut String,
    ) -> anyhow::Result<()> {
        let statistics = run(model, &settings)?.statistics;
        self.every_round.push(statistics.events_per_s);
        self.efficiency.push(statistics.efficiency);
        if digest.is_empty() {
            *digest = statistics.digest;
        } else {
            ensure!(
                *digest == statistics.digest,
                "digests differ: {:?}",
                settings.executor
            );
        }
        Ok(())
    }

    fn ratio_to(&self, other: &Measured) -> f64 {
        median(
            self.every_round
                .iter()
                .zip(&other.every_round)
                .map(|(mine, base)| mine / base),
        )
    }
}

impl Comparison {
    fn new(model: &Phold, settings: &Settings, digest: String, table: [Measured; 4]) -> Self {
        let [bare_loop, sequential, conservative, optimistic] = table.map(|mut measured| {
            measured.events_per_s = median(measured.every_round.iter().copied());
            measured
        });
        Comparison {
            processes: model.processes,
            start_events: model.start_events,
            threads: settings.threads,
            rounds: bare_loop.every_round.len() as u32,
            digest,
            ratios: Ratios {
                sequential_to_bare_loop: sequential.ratio_to(&bare_loop),
                conservative_to_sequential: conservative.ratio_to(&sequential),
                optimistic_to_sequential: optimistic.ratio_to(&sequential),
            },
            bare_loop,
            sequential,
            conservative,
            optimistic,
        }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} processes, {} threads, digest {}",
            self.processes, self.threads, self.digest
        )?;
        let ratios = &self.ratios;
        let (to_bare, conservative) = (
            ratios.sequential_to_bare_loop,
            ratios.conservative_to_sequential,
        );
        let optimistic = ratios.optimistic_to_sequential;
        for (name, measured, ratio, base) in [
            ("bare loop", &self.bare_loop, 1.0, "itself"),
            ("sequential", &self.sequential, to_bare, "the bare loop"),
            (
                "conservative",
                &self.conservative,
                conservative,
                "sequential",
            ),
            ("optimistic", &self.optimistic, optimistic, "sequential"),
        ] {
            let events_per_us = measured.events_per_s / 1e6;
            writeln!(
                out,
                "{name:14}{events_per_us:8.2} M events/s   {ratio:5.2} of {base}"
            )?;
        }
        Ok(())
    }
}

/// The median; of an even count, the upper one of the two in the middle.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
