//! `futago twin fuzz`: breaks simulated clusters, seed after seed.

use crate::{exit::Exit, output};
use clap::Args;
use futago_twin::cluster::{Defect, Mark};
use futago_twin::fuzz::{Checked, Failure, Scenario, shrink, try_run};
use serde::Serialize;
use signal_hook::{consts::TERM_SIGNALS, flag};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Plant this mistake, to see that it is noticed: the exit code is 1 then.
    #[arg(long, value_name = "NAME", value_parser = parse_defect)]
    defect: Option<Defect>,
    /// List the mistakes that can be planted.
    #[arg(long)]
    list_defects: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn parse_defect(name: &str) -> Result<Defect, String> {
    let unknown = || String::from("there is no such defect: see --list-defects");
    Defect::named(name).ok_or_else(unknown)
}

/// A mistake that can be planted.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    /// The part of the system that it is planted in.
    kind: &'static str,
    description: &'static str,
}

#[derive(Default, Serialize)]
struct Report {
    /// The mistake that was planted.
    defect: Option<&'static str>,
    /// Whether a signal ended the run early.
    interrupted: bool,
    /// Seeds without a failure.
    clean: u64,
    /// Operations of all seeds.
    operations: u64,
    /// Histories whose order of operations was looked for.
    histories: u64,
    /// Those of them for which that took too long.
    undecided: u64,
    /// The recovery paths and kinds of faults, and how many clean seeds passed through each.
    coverage: Vec<Passed>,
    failures: Vec<Failed>,
}

/// How many clean seeds passed through a recovery path or met a kind of faults.
#[derive(Serialize)]
struct Passed {
    name: &'static str,
    description: &'static str,
    seeds: u64,
}

impl Passed {
    fn none(mark: Mark) -> Self {
        Self {
            name: mark.name(),
            description: mark.description(),
            seeds: 0,
        }
    }
}

/// One history in so many may stay undecided; with more, the run counts as failed.
const UNDECIDED_SHARE: u64 = 1000;

#[derive(Serialize)]
struct Failed {
    seed: u64,
    /// The sort of failure.
    kind: String,
    /// The fault and the history before it.
    text: String,
    /// The circumstances of the operations, after the scenario was made small.
    circumstances: String,
    /// The command that shows it again.
    replay: String,
}

impl Fuzz {
    /// Runs the seeds.
    pub fn run(self) -> anyhow::Result<Exit> {
        if self.list_defects {
            return list_defects(self.json);
        }
        let interrupted = Arc::new(AtomicBool::new(false));
        for &signal in TERM_SIGNALS {
            flag::register(signal, Arc::clone(&interrupted))?;
        }
        let report = self.run_seeds(&interrupted);
        output::print(self.json, &report, text)?;
        Ok(report.exit())
    }

    fn seeds(&self) -> Range<u64> {
        match self.seed {
            Some(seed) => seed..seed.saturating_add(1),
            None => self.first..self.first.saturating_add(self.seeds),
        }
    }

    /// Runs seeds until all have been run, enough have failed, or a signal has come.
    fn run_seeds(&self, interrupted: &AtomicBool) -> Report {
        let seeds = self.seeds();
        let mut report = Report {
            defect: self.defect.map(Defect::name),
            coverage: Mark::all().map(Passed::none).collect(),
            ..Report::default()
        };
        let bar = output::progress(seeds.end - seeds.start, "seeds");
        for seed in seeds {
            let enough = report.failures.len() >= self.failures.max(1);
            report.interrupted = interrupted.load(Ordering::Relaxed);
            if enough || report.interrupted {
                break;
            }
            self.run_seed(seed, &mut report);
            bar.inc(1);
        }
        bar.finish_and_clear();
        report
    }

    fn run_seed(&self, seed: u64, report: &mut Report) {
        let scenario = Scenario {
            defect: self.defect,
            ..Scenario::draw(seed)
        };
        report.operations += scenario.operations() as u64;
        match try_run(&scenario) {
            Ok(checked) => report.add(checked),
            Err(failure) => report.failures.push(self.failed(&scenario, &failure)),
        }
    }

    fn replay(&self, seed: u64) -> String {
        let defect = self
            .defect
            .map(|defect| format!(" --defect {}", defect.name()));
        let defect = defect.unwrap_or_default();
        format!("futago twin fuzz --seed {seed}{defect}")
    }

    fn failed(&self, scenario: &Scenario, failure: &Failure) -> Failed {
        let seed = scenario.seed;
        let (smallest, failure) = shrink(scenario, failure, self.shrink);
        Failed {
            seed,
            kind: format!("{:?}", failure.kind).to_lowercase(),
            text: failure.text,
            circumstances: smallest.circumstances(),
            replay: self.replay(seed),
        }
    }
}

fn list_defects(json: bool) -> anyhow::Result<Exit> {
    let listed = Defect::all().map(|defect| Listed {
        name: defect.name(),
        kind: defect.kind(),
        description: defect.description(),
    });
    let listed: Vec<Listed> = listed.collect();
    output::print(json, &listed, |listed| {
        let lines = listed.iter().map(|defect| {
            let Listed {
                name,
                kind,
                description,
            } = defect;
            format!("{name:26} {kind:13} {description}\n")
        });
        lines.collect()
    })?;
    Ok(Exit::Success)
}

impl Report {
    fn add(&mut self, checked: Checked) {
        self.clean += 1;
        self.histories += checked.histories;
        self.undecided += checked.undecided;
        for (passed, mark) in self.coverage.iter_mut().zip(Mark::all()) {
            passed.seeds += u64::from(checked.coverage.contains(mark));
        }
    }

    const fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.is_sound() {
            Exit::Success
        } else {
            Exit::Wrong
        }
    }

    const fn is_sound(&self) -> bool {
        self.failures.is_empty() && self.undecided * UNDECIDED_SHARE <= self.histories
    }
}

fn text(report: &Report) -> String {
    let failures: String = report.failures.iter().map(failure_text).collect();
    let failed = report.failures.len();
    let conclusion = match report.defect {
        // Coverage is about the scenarios, not about their defects.
        None => report.coverage.iter().map(coverage_line).collect(),
        Some(defect) => {
            let not = if failed == 0 { "not " } else { "" };
            format!("the defect {defect} was {not}noticed\n")
        }
    };
    let interrupted = match report.interrupted {
        true => "interrupted: ",
        false => "",
    };
    let Report {
        clean,
        operations,
        histories,
        undecided,
        ..
    } = report;
    format!(
        "{failures}{conclusion}{interrupted}{clean} seeds clean, {failed} failed, {operations} operations\n\
         {undecided} of {histories} histories undecided\n"
    )
}

fn failure_text(failed: &Failed) -> String {
    let Failed {
        seed,
        kind,
        text,
        circumstances,
        replay,
    } = failed;
    format!("seed {seed} fails ({kind}):\n{text}\n{circumstances}\nreplay: {replay}\n")
}

fn coverage_line(passed: &Passed) -> String {
    let Passed {
        name,
        description,
        seeds,
    } = passed;
    format!("{seeds:6} {name:27} {description}\n")
}
