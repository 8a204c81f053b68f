//! `futago des matrix`: the agreement of all executors on this machine.

use std::io::{self, Write};

use anyhow::ensure;
use clap::Args;

use super::experiment::ranks;
use super::run_options::RunOptions;
use crate::models::chord::{self, Chord};
use crate::models::phold::Phold;
use crate::models::queueing::Queueing;
use crate::ranks::Ranks;
use crate::{Executor, Model, Placement, Settings, Time, run, run_on};

/// Every model with every executor, 1, 2 and 4 threads and all placements, on the ranks there are.
#[derive(Args, Debug)]
pub(super) struct MatrixArguments {
    /// Seeds for every cell.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// How much longer than usual every run simulates.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    #[command(flatten)]
    run: RunOptions,
}

const THREADS: [u32; 3] = [1, 2, 4];
const EXECUTORS: [Executor; 3] = [
    Executor::Sequential,
    Executor::Conservative,
    Executor::Optimistic,
];
const PLACEMENTS: [Placement; 3] = [Placement::Block, Placement::RoundRobin, Placement::Hint];

/// The rows of one model.
struct Row<'a> {
    name: &'a str,
    end_s: f64,
    seeds: u64,
}

impl MatrixArguments {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        ensure!(self.seeds > 0, "--seeds must be at least 1");
        let mut ranks = ranks(&self.run)?;
        if ranks.rank() == 0 {
            print_heading(out)?;
        }
        let row = |name, end_s: f64| Row {
            name,
            end_s: end_s * self.scale,
            seeds: self.seeds,
        };
        let passed = row("phold", 8.0).fill(&phold(1.0), &mut *ranks, out)?
            + row("phold, skewed", 4.0).fill(&phold(20.0), &mut *ranks, out)?
            + row("M/M/1", 40.0).fill(&open_queues(1), &mut *ranks, out)?
            + row("M/M/3", 40.0).fill(&open_queues(3), &mut *ranks, out)?
            + row("closed network", 20.0).fill(&closed_network(), &mut *ranks, out)?
            + row("chord with churn", 10.0).fill(&chord_ring(), &mut *ranks, out)?;
        if ranks.rank() == 0 {
            writeln!(out, "\n{passed} passed, 0 failed, 0 skipped")?;
        }
        Ok(())
    }
}

fn phold(skew: f64) -> Phold {
    Phold {
        processes: 64,
        start_events: 2,
        skew,
        ..Phold::default()
    }
}

fn open_queues(servers: u32) -> Queueing {
    Queueing {
        stations: 16,
        servers,
        arrivals_per_s: Some(0.7 * f64::from(servers)),
        warm_up_s: 5.0,
        ..Queueing::default()
    }
}

fn closed_network() -> Queueing {
    Queueing {
        stations: 16,
        arrivals_per_s: None,
        customers: 3,
        warm_up_s: 2.0,
        ..Queueing::default()
    }
}

fn chord_ring() -> Chord {
    Chord::new(chord::Settings {
        nodes: 64,
        lookahead_s: 0.03,
        lookup_every_s: 2.0,
        lifetime_s: Some(30.0),
        ..chord::Settings::default()
    })
}

fn print_heading(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "Seeds whose digest is that of a sequential run on one rank:\n"
    )?;
    let cells = ["1 thread", "2 threads", "4 threads"].map(String::from);
    print_row(out, ["model", "executor", "ranks"], &cells)?;
    print_row(out, ["---"; 3], &THREADS.map(|_| "---".into()))
}

fn print_row(
    out: &mut dyn Write,
    [model, executor, ranks]: [&str; 3],
    [one, two, four]: &[String; THREADS.len()],
) -> io::Result<()> {
    writeln!(
        out,
        "| {model:16} | {executor:12} | {ranks:5} | {one:9} | {two:9} | {four:9} |"
    )
}

impl Row<'_> {
    /// Runs and prints the cells of one model. Returns the number of runs; an error names the first
    /// run that disagrees.
    fn fill<M: Model>(
        &self,
        model: &M,
        ranks: &mut dyn Ranks,
        out: &mut dyn Write,
    ) -> anyhow::Result<u64> {
        let mut passed = 0;
        for executor in EXECUTORS {
            let mut agreed = THREADS.map(|_| 0u64);
            for (agreed, threads) in agreed.iter_mut().zip(THREADS) {
                for seed in 1..=self.seeds {
                    self.check(model, executor, threads, seed, ranks)?;
                    *agreed += 1;
                }
            }
            passed += agreed.iter().sum::<u64>();
            if ranks.rank() == 0 {
                let executor = format!("{executor:?}").to_lowercase();
                let count = ranks.count().to_string();
                let cells = agreed.map(|seeds| seeds.to_string());
                print_row(out, [self.name, &executor, &count], &cells)?;
            }
        }
        Ok(passed)
    }

    fn check<M: Model>(
        &self,
        model: &M,
        executor: Executor,
        threads: u32,
        seed: u64,
        ranks: &mut dyn Ranks,
    ) -> anyhow::Result<()> {
        let settings = Settings {
            seed,
            end: Time::from_seconds(self.end_s),
            gvt_interval: 200,
            ..Settings::default()
        };
        let expected = run(model, &settings)?.statistics;
        ensure!(
            expected.events_committed > 100,
            "{}: too few events to tell",
            self.name
        );
        // Placements alternate, so that a few seeds cover all of them.
        let placement = PLACEMENTS[(seed % PLACEMENTS.len() as u64) as usize];
        let settings = Settings {
            executor,
            threads,
            placement,
            ..settings
        };
        let found = run_on(model, &settings, ranks)?.statistics;
        ensure!(
            found.digest == expected.digest,
            "{}, {executor:?}, {threads} threads, {} ranks, {placement:?}, seed {seed}: digest {} \
             is not {}",
            self.name,
            ranks.count(),
            found.digest,
            expected.digest
        );
        Ok(())
    }
}
