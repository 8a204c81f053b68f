//! `futago twin compare`: a workload on a real cluster on this host and in the twin, side by side.

mod markdown;

use super::spread::Spread;
use crate::{
    exit::Exit,
    output,
    simulation::{self, VERSION, local_cluster::Way, real, sweep},
};
use anyhow::Context;
use clap::Args;
use futago_des::ranks::Alone;
use futago_lab::results::{OperationResult, PhaseResult};
use futago_twin::scenario::Point;
use serde::Serialize;
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};

/// Arguments of `twin compare`.
#[derive(Args)]
pub struct Compare {
    /// The scenario file. Its machine is used for the twin if no other is named.
    scenario: PathBuf,
    /// The machine file that `twin calibrate` wrote on this host.
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Set a value of the scenario, such as `cluster.servers=4`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    options: Vec<String>,
    /// How often the real cluster runs everything, in turns; medians count.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Print tables in Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    /// Stands for the machine file.
    machine_hash: Option<String>,
    repetitions: u32,
    rows: Vec<Row>,
    /// The mean of the errors of throughput, without their signs, in percent.
    throughput_error_mean_percent: f64,
    /// The worst of them.
    throughput_error_worst_percent: f64,
    /// By how much throughput of two runs of the real cluster differs, on average of all rows, in percent.
    real_difference_mean_percent: f64,
    /// The worst of all rows.
    real_difference_worst_percent: f64,
}

/// One operation of one point.
#[derive(Serialize)]
struct Row {
    parameters: BTreeMap<String, Value>,
    phase: String,
    operation: String,
    /// How many succeeded; on the real cluster the first time.
    count: Both<u64>,
    /// How many failed, by error; on the real cluster the first time.
    errors: Both<BTreeMap<String, u64>>,
    throughput: Pair,
    p50_us: Pair,
    p99_us: Pair,
}

/// What both have come to.
#[derive(Serialize)]
struct Both<T> {
    real: T,
    twin: T,
}

impl Both<BTreeMap<String, u64>> {
    fn is_empty(&self) -> bool {
        self.real.is_empty() && self.twin.is_empty()
    }
}

/// A figure of both, and by how much the twin's is off.
#[derive(Serialize)]
struct Pair {
    /// The median of all repetitions.
    real: f64,
    real_least: f64,
    real_most: f64,
    /// By how much two runs of the real cluster differ on average, in percent of the median: nobody can tell
    /// smaller errors from none by a single run.
    real_difference_percent: f64,
    twin: f64,
    error_percent: f64,
}

impl Row {
    /// A parameter of its point.
    fn parameter(&self, key: &str) -> String {
        let value = self.parameters.get(key);
        value.map_or(String::new(), Value::to_string)
    }

    /// The phase, and the operation if the phase is called otherwise and may have several.
    fn label(&self) -> String {
        match self.phase.contains(&self.operation) {
            true => self.phase.clone(),
            false => format!("{}: {}", self.phase, self.operation),
        }
    }
}

impl Pair {
    fn new(real: Vec<f64>, twin: f64) -> Self {
        let difference = mean_difference(&real);
        let real = Spread::of(real);
        Self {
            real: real.median,
            real_least: real.least,
            real_most: real.most,
            real_difference_percent: difference / real.median * 100.0,
            twin,
            error_percent: (twin / real.median - 1.0) * 100.0,
        }
    }
}

impl Compare {
    /// Runs both.
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut options = self.options.clone();
        let mut machine_hash = None;
        if let Some(machine) = &self.machine {
            let path = std::path::absolute(machine)?;
            let text = std::fs::read(&path)
                .with_context(|| format!("cannot read the machine {}", path.display()))?;
            machine_hash = Some(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&text)));
            options.push(format!(
                "machine={{ file = {:?} }}",
                path.display().to_string()
            ));
        }
        let points = simulation::points(&self.scenario, &options)?;
        let rows = compare(&points, self.repetitions)?;
        let (mean, worst) = error_mean_and_worst(&rows);
        let differences = rows
            .iter()
            .map(|row| row.throughput.real_difference_percent);
        let (difference_mean, difference_worst) = mean_and_worst(differences);
        let report = Report {
            version: VERSION,
            machine_hash,
            repetitions: self.repetitions,
            throughput_error_mean_percent: mean,
            throughput_error_worst_percent: worst,
            real_difference_mean_percent: difference_mean,
            real_difference_worst_percent: difference_worst,
            rows,
        };
        let text = if self.markdown { markdown::text } else { text };
        output::print(self.json, &report, text)?;
        Ok(Exit::Success)
    }
}

/// The mean and the worst of the errors of throughput, without their signs, in percent.
fn error_mean_and_worst<'a>(rows: impl IntoIterator<Item = &'a Row>) -> (f64, f64) {
    mean_and_worst(
        rows.into_iter()
            .map(|row| row.throughput.error_percent.abs()),
    )
}

fn mean_and_worst(percents: impl Iterator<Item = f64>) -> (f64, f64) {
    // Operations that all failed have no throughput.
    let percents: Vec<f64> = percents.filter(|percent| percent.is_finite()).collect();
    let mean = percents.iter().sum::<f64>() / percents.len().max(1) as f64;
    (mean, percents.into_iter().fold(0.0, f64::max))
}

/// By how much two of these values differ on average (Gini's mean difference); zero for one value.
fn mean_difference(values: &[f64]) -> f64 {
    let others = |place: usize| values[place + 1..].iter();
    let pairs = (0..values.len()).flat_map(|place| others(place).map(move |other| (place, other)));
    let differences: Vec<f64> = pairs
        .map(|(place, other)| (values[place] - other).abs())
        .collect();
    differences.iter().sum::<f64>() / differences.len().max(1) as f64
}

/// The rows of all points, in their order. Each repetition runs all points before the next one, so that
/// what else the host does concerns all of them alike.
fn compare(points: &[Point], repetitions: u32) -> anyhow::Result<Vec<Row>> {
    let bar = output::progress(u64::from(repetitions + 1) * points.len() as u64, "points");
    let mut real: Vec<Vec<Vec<PhaseResult>>> = points.iter().map(|_| Vec::new()).collect();
    for _ in 0..repetitions {
        for (point, runs) in points.iter().zip(&mut real) {
            let phases = real::run(&point.body, &point.setup, 1, Way::Memory)?.into_iter();
            runs.push(phases.map(|phase| phase.result).collect());
            bar.inc(1);
        }
    }
    let mut rows = Vec::new();
    for (point, runs) in points.iter().zip(&real) {
        let twin = sweep::run_point(point, &mut Alone)?;
        for (place, twin) in twin.phases.iter().enumerate() {
            let runs: Vec<&PhaseResult> = runs.iter().filter_map(|run| run.get(place)).collect();
            rows.extend(rows_of(point, &runs, twin));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}

/// The rows of a phase: one for each operation that both have performed.
fn rows_of(point: &Point, real: &[&PhaseResult], twin: &PhaseResult) -> Vec<Row> {
    let rows = twin.operations.iter().filter_map(|(name, twin_s)| {
        let real = real.iter().filter_map(|phase| phase.operations.get(name));
        let real: Vec<&OperationResult> = real.collect();
        let pair = |figure: fn(&OperationResult) -> f64| {
            Pair::new(real.iter().map(|run| figure(run)).collect(), figure(twin_s))
        };
        let mut parameters = point.parameters.clone();
        parameters.remove("machine");
        let first = *real.first()?;
        Some(Row {
            parameters,
            phase: twin.name.clone(),
            operation: name.clone(),
            count: Both {
                real: first.count,
                twin: twin_s.count,
            },
            errors: Both {
                real: first.errors.clone(),
                twin: twin_s.errors.clone(),
            },
            throughput: pair(|operation| operation.per_s),
            p50_us: pair(|operation| operation.latency_us.p50),
            p99_us: pair(|operation| operation.latency_us.p99),
        })
    });
    rows.collect()
}

/// Errors and how many there were of each.
fn list(errors: &BTreeMap<String, u64>) -> String {
    let errors = errors.iter().map(|(name, count)| format!("{count} {name}"));
    let errors: Vec<String> = errors.collect();
    match errors.is_empty() {
        true => "none".to_owned(),
        false => errors.join(", "),
    }
}

fn text(report: &Report) -> String {
    let mut text = format!(
        "{:>7} {:>7} {:18} {:>10} {:>17} {:>7} {:>10} {:>7} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7}\n",
        "servers",
        "clients",
        "phase",
        "real/s",
        "least-most",
        "apart %",
        "twin/s",
        "%",
        "p50 real",
        "p50 twin",
        "%",
        "p99 real",
        "p99 twin",
        "%"
    );
    for row in &report.rows {
        text += &format!(
            "{:>7} {:>7} {:18} {:>10.0} {:>17} {:>7.1} {:>10.0} {:>7.1} {:>9.1} {:>9.1} {:>7.1} {:>9.1} {:>9.1} {:>7.1}\n",
            row.parameter("cluster.servers"),
            row.parameter("cluster.clients"),
            row.label(),
            row.throughput.real,
            format!(
                "{:.0}-{:.0}",
                row.throughput.real_least, row.throughput.real_most
            ),
            row.throughput.real_difference_percent,
            row.throughput.twin,
            row.throughput.error_percent,
            row.p50_us.real,
            row.p50_us.twin,
            row.p50_us.error_percent,
            row.p99_us.real,
            row.p99_us.twin,
            row.p99_us.error_percent,
        );
    }
    let failed = report.rows.iter().filter(|row| !row.errors.is_empty());
    for row in failed {
        let (real, twin) = (list(&row.errors.real), list(&row.errors.twin));
        text += &format!("failed: {}: real {real}; twin {twin}\n", row.label());
    }
    if let Some(hash) = &report.machine_hash {
        text += &format!("machine file {hash}\n");
    }
    text + &format!(
        "throughput is off by {:.1} % on average, {:.1} % at worst; two runs of the real cluster differ by {:.1} % on \
         average, {:.1} % at worst\n",
        report.throughput_error_mean_percent,
        report.throughput_error_worst_percent,
        report.real_difference_mean_percent,
        report.real_difference_worst_percent,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_differ_as_all_pairs_do_on_average() {
        assert_eq!(mean_difference(&[5.0]), 0.0);
        assert_eq!(mean_difference(&[4.0, 1.0, 3.0]), 2.0);
        let pair = Pair::new(vec![80.0, 100.0, 110.0], 95.0);
        assert_eq!(pair.real_difference_percent, 20.0);
        assert!((pair.error_percent + 5.0).abs() < 1e-9);
    }
}
