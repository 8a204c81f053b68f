//! `futago twin fuzz`: breaks simulated clusters, seed after seed.

use crate::{exit::Exit, output};
use clap::Args;
use futago_twin::fuzz::{Checked, Failure, Scenario, shrink, try_run};
use serde::Serialize;

/// Arguments of `twin fuzz`.
#[derive(Args)]
pub struct Fuzz {
    /// How many seeds to run.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Run this seed only.
    #[arg(long, conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// Go on after a failure, until there are so many.
    #[arg(long, default_value_t = 1)]
    failures: usize,
    /// How many runs to spend on making a failing scenario small.
    #[arg(long, default_value_t = 600)]
    shrink: usize,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Report {
    /// Seeds without a failure.
    clean: u64,
    /// Operations of all seeds.
    operations: u64,
    /// Histories whose order of operations was looked for.
    histories: u64,
    /// Those of them for which that took too long.
    undecided: u64,
    failures: Vec<Failed>,
}

/// One history in so many may stay undecided; with more, the run counts as failed.
const UNDECIDED_SHARE: u64 = 1000;

#[derive(Serialize)]
struct Failed {
    seed: u64,
    /// The sort of failure.
    kind: String,
    /// What is wrong and what led to it.
    text: String,
    /// What surrounds the operations, after the scenario was made small.
    circumstances: String,
    /// What to run to see it again.
    replay: String,
}

impl Fuzz {
    /// Runs the seeds.
    pub fn run(self) -> anyhow::Result<Exit> {
        let seeds = match self.seed {
            Some(seed) => seed..seed.saturating_add(1),
            None => self.first..self.first.saturating_add(self.seeds),
        };
        let mut report = Report {
            clean: 0,
            operations: 0,
            histories: 0,
            undecided: 0,
            failures: Vec::new(),
        };
        let bar = output::progress(seeds.end - seeds.start, "seeds");
        for seed in seeds {
            let scenario = Scenario::draw(seed);
            report.operations += scenario.operations() as u64;
            match try_run(&scenario) {
                Ok(checked) => report.add(checked),
                Err(failure) => report.failures.push(self.failed(&scenario, &failure)),
            }
            bar.inc(1);
            if report.failures.len() >= self.failures.max(1) {
                break;
            }
        }
        bar.finish_and_clear();
        output::print(self.json, &report, text)?;
        Ok(if report.is_sound() {
            Exit::Success
        } else {
            Exit::Wrong
        })
    }

    fn failed(&self, scenario: &Scenario, failure: &Failure) -> Failed {
        let seed = scenario.seed;
        let (smallest, failure) = shrink(scenario, failure, self.shrink);
        Failed {
            seed,
            kind: format!("{:?}", failure.kind).to_lowercase(),
            text: failure.text,
            circumstances: smallest.circumstances(),
            replay: format!("futago twin fuzz --seed {seed}"),
        }
    }
}

impl Report {
    const fn add(&mut self, checked: Checked) {
        self.clean += 1;
        self.histories += checked.histories;
        self.undecided += checked.undecided;
    }

    const fn is_sound(&self) -> bool {
        self.failures.is_empty() && self.undecided * UNDECIDED_SHARE <= self.histories
    }
}

fn text(report: &Report) -> String {
    let failures = report.failures.iter().map(|failed| {
        let Failed {
            seed,
            kind,
            text,
            circumstances,
            replay,
        } = failed;
        format!("seed {seed} fails ({kind}):\n{text}\n{circumstances}\nreplay: {replay}\n")
    });
    let failures: String = failures.collect();
    let Report {
        clean,
        operations,
        histories,
        undecided,
        ..
    } = report;
    let failed = report.failures.len();
    format!(
        "{failures}{clean} seeds clean, {failed} failed, {operations} operations\n\
         {undecided} of {histories} histories undecided\n"
    )
}
