//! `futago twin run`: runs the points of a scenario.

use crate::{
    exit::{Exit, Problem},
    output,
    simulation::{self, VERSION, ranks, sweep},
};
use anyhow::Context;
use clap::{Args, ValueEnum};
use futago_lab::{
    report::{self, FigureReport, Heading, Table},
    results::{PhaseResult, PointResult, SATURATED},
    study::Figure,
};
use futago_twin::scenario::Point;
use serde::Serialize;
use std::{collections::BTreeSet, path::PathBuf};

/// Arguments of `twin run`.
#[derive(Args)]
pub struct Run {
    /// The scenario file.
    scenario: PathBuf,
    /// The executor, instead of the scenario's; the results are the same.
    #[arg(long, value_enum)]
    executor: Option<Executor>,
    /// Threads of the conservative and the optimistic executor.
    #[arg(long)]
    threads: Option<u32>,
    /// Set a value of the scenario, such as `cluster.servers=4`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    options: Vec<String>,
    /// How many points to run at a time; by default as many as there are cores.
    #[arg(long)]
    jobs: Option<usize>,
    /// Run together with the other processes of an mpirun: points are dealt out to them, and a
    /// single point is run by all together.
    #[arg(long)]
    mpi: bool,
    /// Write an HTML report to this file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Executor {
    Sequential,
    Conservative,
    Optimistic,
}

#[derive(Serialize)]
struct Results<'a> {
    scenario: String,
    version: &'a str,
    points: Vec<PointResult>,
}

impl Run {
    /// Runs the scenario.
    pub fn run(self) -> anyhow::Result<Exit> {
        let points = simulation::points(&self.scenario, &self.all_options()?)?;
        let jobs = sweep::jobs(self.jobs, &points);
        let results = if self.mpi {
            let mut ranks = ranks::start()?;
            let results = ranks::run_all(&points, jobs, &mut *ranks)?;
            if ranks.rank() != 0 {
                return Ok(Exit::Success);
            }
            results
        } else {
            let bar = output::progress(points.len() as u64, "points");
            let results = sweep::run_all(&points, jobs, || bar.inc(1))?;
            bar.finish_and_clear();
            results
        };
        if let Some(path) = &self.report {
            let html = self.html(&points, &results)?;
            std::fs::write(path, html)
                .with_context(|| format!("cannot write the report {}", path.display()))?;
        }
        let results = Results {
            scenario: self.scenario.display().to_string(),
            version: VERSION,
            points: results,
        };
        output::print(self.json, &results, |results| text(&results.points))?;
        Ok(Exit::Success)
    }

    /// The options, with those that have names of their own.
    fn all_options(&self) -> anyhow::Result<Vec<String>> {
        let mut options = self.options.clone();
        if let Some(executor) = self.executor.and_then(|e| e.to_possible_value()) {
            options.push(format!("run.executor={}", executor.get_name()));
        }
        if let Some(threads) = self.threads {
            if threads == 0 {
                return Err(Problem::error(Exit::Usage, "--threads must be 1 or more"));
            }
            options.push(format!("run.threads={threads}"));
        }
        Ok(options)
    }

    /// A report of one figure: throughput over the parameter that varies most, with a line for each
    /// value of the next.
    fn html(&self, points: &[Point], results: &[PointResult]) -> anyhow::Result<String> {
        let mut keys = varying(results);
        let x = keys.pop().unwrap_or_else(|| "cluster.clients".to_owned());
        let operation = results
            .iter()
            .flat_map(|result| result.throughput.keys())
            .next();
        let body = points.first().map(|point| &point.body);
        let description = body.map_or("", |body| &body.description);
        let title = self
            .scenario
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let figure = Figure {
            name: "figure".to_owned(),
            title: title.clone().into_owned(),
            scenario: self.scenario.display().to_string(),
            claim: String::new(),
            finding: String::new(),
            x,
            y: format!("throughput.{}", operation.map_or("", String::as_str)),
            series: keys.pop(),
            x_label: None,
            y_label: None,
            log_x: false,
            alone: false,
            check: Vec::new(),
        };
        let heading = Heading {
            title: title.into_owned(),
            about: description.to_owned(),
            version: VERSION.to_owned(),
        };
        let figure = FigureReport {
            figure,
            scenario: simulation::first_document(points),
            points: results.to_vec(),
            checks: Vec::new(),
        };
        Ok(report::html(&heading, &[figure])?)
    }
}

/// The parameters with more than one value, the one with most values last.
fn varying(results: &[PointResult]) -> Vec<String> {
    let keys: BTreeSet<&String> = results.iter().flat_map(|r| r.parameters.keys()).collect();
    let count = |key: &String| {
        let values = results
            .iter()
            .filter_map(|result| result.parameters.get(key));
        let values: BTreeSet<String> = values.map(ToString::to_string).collect();
        values.len()
    };
    let mut counted: Vec<(usize, &String)> =
        keys.into_iter().map(|key| (count(key), key)).collect();
    counted.retain(|(count, _)| *count > 1);
    counted.sort();
    counted.into_iter().map(|(_, key)| key.clone()).collect()
}

/// A single point in full, several as a table.
fn text(points: &[PointResult]) -> String {
    match points {
        [point] => point.phases.iter().map(phase_text).collect(),
        _ => Table::new(points, &[]).to_text(),
    }
}

fn phase_text(phase: &PhaseResult) -> String {
    let mut text = format!("{}, {:.3} s\n", phase.name, phase.measured_s);
    for (name, operation) in &phase.operations {
        let latency = operation.latency_us;
        let failed: u64 = operation.errors.values().sum();
        text += &format!(
            "  {name}: {:.0}/s, p50 {:.1} µs, p99 {:.1} µs, mean {:.1} µs",
            operation.per_s, latency.p50, latency.p99, latency.mean
        );
        if operation.mib_per_s > 0.0 {
            text += &format!(", {:.1} MiB/s", operation.mib_per_s);
        }
        if failed > 0 {
            text += &format!(", {failed} failed {:?}", operation.errors);
        }
        text += "\n";
    }
    text += &transactions_text(phase);
    if let Some(left) = phase.left {
        text += &format!("  {left} operations had arrived and had not begun at the end\n");
    }
    text += &format!(
        "  {:20} {:>9} {:>12} {:>10} {:>10} {:>9} {:>9} {:>9}\n",
        "resource", "units", "uses/s", "use us", "wait us", "busy", "busiest", "queue"
    );
    for (name, resource) in &phase.resources {
        let units = match resource.units {
            0 => "no limit".to_owned(),
            units => units.to_string(),
        };
        text += &format!(
            "  {name:20} {units:>9} {:>12.0} {:>10.2} {:>10.2} {:>8.1}% {:>8.1}% {:>9.2}\n",
            resource.uses_per_s,
            resource.service_us,
            resource.wait_us,
            resource.utilisation * 100.0,
            resource.utilisation_max * 100.0,
            resource.queue_mean
        );
    }
    text + &bound_text(phase)
}

/// The outcomes of transactions, if there were any.
fn transactions_text(phase: &PhaseResult) -> String {
    let all = &phase.transactions;
    if all.begun == 0 {
        return String::new();
    }
    format!(
        "  transactions: {} begun, {} committed ({:.0}/s), {} aborted ({:.0}/s); {} conflicts, {} retries\n",
        all.begun,
        all.committed,
        all.committed_per_s,
        all.aborted,
        all.aborted_per_s,
        all.conflicts,
        all.retries
    )
}

/// The bottleneck of the phase, and its limit beside the measured throughput.
fn bound_text(phase: &PhaseResult) -> String {
    let bound = &phase.bound;
    let allowed = bound.per_s.iter().map(|(name, per_s)| {
        let measured = phase.operations.get(name).map_or(0.0, |o| o.per_s);
        let bandwidth = bound.bandwidth_mib_per_s.get(name);
        let bandwidth = bandwidth.map_or(String::new(), |most| format!(", {most:.1} MiB/s"));
        format!("{name} {per_s:.0}/s{bandwidth} (measured {measured:.0}/s)")
    });
    let allowed: Vec<String> = allowed.collect();
    let busy = phase
        .resources
        .get(&bound.resource)
        .map(|r| r.utilisation_max);
    let limit = match busy {
        Some(busy) if busy >= SATURATED => format!("{} is saturated", bound.resource),
        Some(busy) => format!("{} is busiest, {:.0} %", bound.resource, busy * 100.0),
        None => "no resource is saturated; clients ask for no more".to_owned(),
    };
    format!("  {limit}: it allows {}\n", allowed.join(", "))
        .replace("no more: it allows", "no more than")
}
