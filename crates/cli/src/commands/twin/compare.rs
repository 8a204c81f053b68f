//! `futago twin compare`: a workload on a real cluster on this host and in the twin, side by side.

mod markdown;
mod progress;

use super::{calibrate::Calibration, spread::Spread};
use crate::{
    exit::{Exit, Problem},
    output,
    simulation::{
        self, VERSION,
        local_cluster::Way,
        real::{self, RealPhase},
        refusal,
        surroundings::{Surroundings, Usual},
        sweep,
    },
};
use anyhow::Context;
use clap::Args;
use futago_lab::results::{OperationResult, PhaseResult, PointResult};
use futago_twin::{scenario::Point, world::Phase};
use progress::Progress;
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

/// Arguments of `twin compare`.
#[derive(Args)]
pub struct Compare {
    /// The scenario file. Its machine is used for the twin if no other is named.
    scenario: PathBuf,
    /// The machine file that `twin calibrate` wrote on this host.
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Calibrate between the points, and write the machine file that the twin then runs on: so both
    /// have met the same host.
    #[arg(long, value_name = "FILE", conflicts_with = "machine")]
    calibrate: Option<PathBuf>,
    /// Set a value of the scenario, such as `cluster.servers=4`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    options: Vec<String>,
    /// How often the real cluster runs everything, interleaved; the means of the middle half of the
    /// measurements in the usual state count.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1000))]
    repetitions: u32,
    /// How many seeds the twin runs, from the scenario's on. The kernel of a host puts processes on
    /// other cores each time, and the simulated one does with each seed. The mean of the middle
    /// half counts.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Keep measurements in this file. Earlier ones in it count too if the program and the scenario
    /// are the same, so that a long comparison can be made in pieces.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
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
    repetitions: usize,
    seeds: u32,
    /// The state of the host in which repetitions count: from the machine file, or else the usual
    /// one here.
    #[serde(flatten)]
    usual: Usual,
    rows: Vec<Row>,
    /// The mean of the errors of throughput, without their signs, in percent.
    throughput_error_mean_percent: f64,
    /// The worst of them.
    throughput_error_worst_percent: f64,
    /// The difference in throughput of two repetitions of the real cluster, averaged over all rows,
    /// in percent.
    real_difference_mean_percent: f64,
    /// The worst of all rows.
    real_difference_worst_percent: f64,
    /// The same difference between the even and the odd repetitions: two comparisons of as many
    /// repetitions would differ by seven tenths of it.
    real_halves_mean_percent: f64,
    /// The worst of all rows.
    real_halves_worst_percent: f64,
}

/// One operation of one point.
#[derive(Serialize)]
struct Row {
    parameters: BTreeMap<String, Value>,
    phase: String,
    operation: String,
    /// The state of the host in each repetition of the comparison and of the phase in it.
    surroundings: Vec<Surroundings>,
    /// How many repetitions count: those in the usual state, or the nearest ones if those are few.
    counted: usize,
    /// How long servers and clients of the real cluster are busy for an operation, in microseconds:
    /// the mean of the middle half of all repetitions that count.
    real_work_us: Work,
    /// How many succeeded; the first time.
    count: Both<u64>,
    /// How many failed, by error; the first time.
    errors: Both<BTreeMap<String, u64>>,
    throughput: Pair,
    p50_us: Pair,
    p99_us: Pair,
}

/// How long both sides work.
#[derive(Serialize)]
struct Work {
    servers: f64,
    clients: f64,
}

/// A result of both.
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
    /// The mean of the middle half of all repetitions that count.
    real: f64,
    real_least: f64,
    real_most: f64,
    /// By how much two of them differ on average, in percent of it: a single run does not show
    /// smaller errors.
    real_difference_percent: f64,
    /// By how much every other one together and those between differ.
    real_halves_percent: f64,
    /// Those of all repetitions, whether they count or not.
    repetitions: Vec<f64>,
    /// The mean of the middle half of all seeds.
    twin: f64,
    twin_least: f64,
    twin_most: f64,
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
    /// The figures of all repetitions, and whether they count.
    fn new(repetitions: Vec<(f64, bool)>, twin: Spread) -> Self {
        let counted = repetitions.iter().filter(|(_, counts)| *counts);
        let counted: Vec<f64> = counted.map(|(figure, _)| *figure).collect();
        let real = Spread::of(counted.clone());
        Self {
            real: real.middle,
            real_least: real.least,
            real_most: real.most,
            real_difference_percent: mean_difference(&counted) / real.middle * 100.0,
            real_halves_percent: halves_difference(&counted) / real.middle * 100.0,
            twin: twin.middle,
            twin_least: twin.least,
            twin_most: twin.most,
            error_percent: (twin.middle / real.middle - 1.0) * 100.0,
            repetitions: repetitions.into_iter().map(|(figure, _)| figure).collect(),
        }
    }
}

/// By how much every other value together and those between differ; zero for one value.
fn halves_difference(values: &[f64]) -> f64 {
    let half = |first: usize| Spread::of(values.iter().skip(first).step_by(2).copied().collect());
    match values.len() {
        0 | 1 => 0.0,
        _ => (half(0).middle - half(1).middle).abs(),
    }
}

impl Compare {
    /// Runs both.
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut options = self.options.clone();
        let mut machine_hash = None;
        let mut choose = |machine: &PathBuf| {
            let (hash, option) = machine_option(machine)?;
            machine_hash = Some(hash);
            options.push(option);
            simulation::points(&self.scenario, &options)
        };
        let mut points = match &self.machine {
            Some(machine) => choose(machine)?,
            None => simulation::points(&self.scenario, &self.options)?,
        };
        for point in &points {
            refusal::check(&point.body, &point.setup)?;
        }
        // The costs of the simulated machine make no difference for the real cluster.
        let runs = self.run_for_real(&points)?;
        if let Some(machine) = &self.calibrate {
            points = choose(machine)?;
        }
        let usual = usual(&points, &runs);
        let twins = self.run_twins(&points)?;
        let rows = compare(&points, &runs, &twins, usual);
        let (mean, worst) = error_mean_and_worst(&rows);
        let throughputs = || rows.iter().map(|row| &row.throughput);
        let (difference_mean, difference_worst) =
            mean_and_worst(throughputs().map(|pair| pair.real_difference_percent));
        let (halves_mean, halves_worst) =
            mean_and_worst(throughputs().map(|pair| pair.real_halves_percent));
        let report = Report {
            version: VERSION,
            machine_hash,
            repetitions: runs.first().map_or(0, Vec::len),
            seeds: self.seeds,
            usual,
            throughput_error_mean_percent: mean,
            throughput_error_worst_percent: worst,
            real_difference_mean_percent: difference_mean,
            real_difference_worst_percent: difference_worst,
            real_halves_mean_percent: halves_mean,
            real_halves_worst_percent: halves_worst,
            rows,
        };
        let text = if self.markdown { markdown::text } else { text };
        output::print(self.json, &report, text)?;
        Ok(Exit::Success)
    }
}

/// The hash of a machine file, and the option that lays the file over a scenario.
fn machine_option(machine: &Path) -> anyhow::Result<(String, String)> {
    let path = std::path::absolute(machine)?;
    let text = std::fs::read(&path)
        .with_context(|| format!("cannot read the machine {}", path.display()))?;
    let hash = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&text));
    let path = path.display().to_string();
    Ok((hash, format!("machine={{ file = {path:?} }}")))
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

/// All repetitions of each point, and the phases of each. A repetition runs all points before the
/// next one, so that what else the host does concerns all of them alike.
type Runs = Vec<Vec<Vec<RealPhase>>>;

/// A round of the calibration takes about as long as two points.
const CALIBRATED_EVERY: usize = 3;

impl Compare {
    /// Where real servers with disks keep what they have: beside the machine file, because that is
    /// the disk that was measured.
    fn scratch(&self) -> PathBuf {
        let machine = self.machine.as_ref().or(self.calibrate.as_ref());
        machine.map_or_else(std::env::temp_dir, |machine| machine.with_file_name(""))
    }

    /// Runs the real cluster, and calibrates beside it if that is wanted.
    fn run_for_real(&self, points: &[Point]) -> anyhow::Result<Runs> {
        let stored = self
            .keep
            .as_deref()
            .map(|file| Progress::load(file, points));
        let mut progress = stored.unwrap_or_else(|| Progress::new(points))?;
        let calibration = self.calibrate.clone();
        let calibration = calibration.map(|out| Calibration::go_on(out, progress.rounds.clone()));
        let mut calibration = calibration.transpose()?;
        let scratch = self.scratch();
        let bar = output::progress(u64::from(self.repetitions) * points.len() as u64, "points");
        for _ in 0..self.repetitions {
            for (place, (point, runs)) in points.iter().zip(&mut progress.runs).enumerate() {
                if place % CALIBRATED_EVERY == 0 {
                    calibration.as_mut().map(Calibration::measure).transpose()?;
                }
                let (body, setup) = (&point.body, &point.setup);
                runs.push(real::run(body, setup, 1, Way::Memory, &scratch)?);
                bar.inc(1);
            }
            if let Some(calibration) = &calibration {
                progress.rounds = calibration.found().clone();
            }
            self.keep
                .as_deref()
                .map(|file| progress.store(file))
                .transpose()?;
        }
        bar.finish_and_clear();
        if progress.runs.iter().any(Vec::is_empty) {
            let message = "nothing has been measured yet: say `--repetitions` of 1 or more";
            return Err(Problem::error(Exit::Usage, message));
        }
        calibration.map(Calibration::write).transpose()?;
        Ok(progress.runs)
    }
}

impl Compare {
    /// The twin's results of each point with each seed.
    fn run_twins(&self, points: &[Point]) -> anyhow::Result<Vec<Vec<PointResult>>> {
        let with_seed = |point: &Point, more: u32| {
            let mut point = point.clone();
            point.setup.seed = point.setup.seed.wrapping_add(more.into());
            point
        };
        let seeds = |point| (0..self.seeds).map(move |more| with_seed(point, more));
        let all: Vec<Point> = points.iter().flat_map(seeds).collect();
        let results = sweep::run_all(&all, sweep::jobs(None, &all), || ())?;
        let by_point = results.chunks(self.seeds as usize);
        Ok(by_point.map(<[PointResult]>::to_vec).collect())
    }
}

/// The usual state of the host when the machine was measured, or else in these runs.
fn usual(points: &[Point], runs: &Runs) -> Usual {
    let phases = runs.iter().flatten().flatten();
    let surroundings: Vec<Surroundings> = phases.map(|phase| phase.surroundings).collect();
    let here = Usual::of(&surroundings);
    let machine = points.first().map(|point| &point.body.machine.servers);
    Usual {
        handover_ns: machine.and_then(|at| at.handover_ns).or(here.handover_ns),
        computation_ns: machine
            .and_then(|at| at.computation_ns)
            .or(here.computation_ns),
    }
}

/// The rows of all points, in their order.
fn compare(points: &[Point], runs: &Runs, twins: &[Vec<PointResult>], usual: Usual) -> Vec<Row> {
    let mut rows = Vec::new();
    for ((point, runs), twins) in points.iter().zip(runs).zip(twins) {
        for places in repeated(&point.setup.phases) {
            let runs = runs.iter().filter_map(|run| run.get(places.clone()));
            let twins = twins.iter();
            let twins = twins.filter_map(|twin| twin.phases.get(places.clone()));
            let (runs, twins): (Vec<_>, Vec<_>) =
                (runs.flatten().collect(), twins.flatten().collect());
            rows.extend(rows_of(point, &runs, &twins, usual));
        }
    }
    rows
}

/// The places of phases. Those of one name that follow each other repeat each other.
fn repeated(phases: &[Phase]) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    phases.chunk_by(|a, b| a.name == b.name).map(move |alike| {
        let begin = end;
        end += alike.len();
        begin..end
    })
}

/// The rows of phases that repeat each other: one for each operation that both have performed.
fn rows_of(point: &Point, real: &[&RealPhase], twins: &[&PhaseResult], usual: Usual) -> Vec<Row> {
    let surroundings: Vec<Surroundings> = real.iter().map(|phase| phase.surroundings).collect();
    let counts = usual.counted(&surroundings);
    let Some(first_twin) = twins.first() else {
        return Vec::new();
    };
    let rows = first_twin.operations.iter().filter_map(|(name, of_twin)| {
        let results = real
            .iter()
            .zip(&counts)
            .filter_map(|(phase, counts)| Some((phase.result.operations.get(name)?, *counts)));
        let results: Vec<(&OperationResult, bool)> = results.collect();
        let pair = |figure: fn(&OperationResult) -> f64| {
            let all = results.iter().map(|(run, counts)| (figure(run), *counts));
            let twins = twins.iter().filter_map(|twin| twin.operations.get(name));
            Pair::new(all.collect(), Spread::of(twins.map(figure).collect()))
        };
        let mut parameters = point.parameters.clone();
        parameters.remove("machine");
        let (first, _) = *results.first()?;
        Some(Row {
            parameters,
            phase: first_twin.name.clone(),
            operation: name.clone(),
            surroundings: surroundings.clone(),
            real_work_us: work_us(real, &counts),
            counted: counts.iter().filter(|counts| **counts).count(),
            count: Both {
                real: first.count,
                twin: of_twin.count,
            },
            errors: Both {
                real: first.errors.clone(),
                twin: of_twin.errors.clone(),
            },
            throughput: pair(|operation| operation.per_s),
            p50_us: pair(|operation| operation.latency_us.p50),
            p99_us: pair(|operation| operation.latency_us.p99),
        })
    });
    rows.collect()
}

/// The work for an operation.
fn work_us(real: &[&RealPhase], counts: &[bool]) -> Work {
    let counted = || real.iter().zip(counts).filter(|(_, counts)| **counts);
    let middle = |work_us: fn(&RealPhase) -> f64| {
        Spread::of(counted().map(|(phase, _)| work_us(phase)).collect()).middle
    };
    Work {
        servers: middle(|phase| phase.totals.server_busy_us as f64 / phase.performed.max(1) as f64),
        clients: middle(|phase| phase.client_busy_ns as f64 / 1e3 / phase.performed.max(1) as f64),
    }
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
        "{:>7} {:>7} {:18} {:>7} {:>10} {:>17} {:>7} {:>8} {:>10} {:>7} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7}\n",
        "servers",
        "clients",
        "phase",
        "counted",
        "real/s",
        "least-most",
        "apart %",
        "halves %",
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
            "{:>7} {:>7} {:18} {:>7} {:>10.0} {:>17} {:>7.1} {:>8.1} {:>10.0} {:>7.1} {:>9.1} {:>9.1} {:>7.1} {:>9.1} {:>9.1} {:>7.1}\n",
            row.parameter("cluster.servers"),
            row.parameter("cluster.clients"),
            row.label(),
            row.counted,
            row.throughput.real,
            format!(
                "{:.0}-{:.0}",
                row.throughput.real_least, row.throughput.real_most
            ),
            row.throughput.real_difference_percent,
            row.throughput.real_halves_percent,
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
    text + &summary(report)
}

/// How near both are, and how near the real cluster is to itself.
fn summary(report: &Report) -> String {
    format!(
        "throughput is off by {:.1} % on average, {:.1} % at worst; two repetitions of the real cluster differ by {:.1} % on \
         average, {:.1} % at worst; halves of them by {:.1} %, {:.1} % at worst\n",
        report.throughput_error_mean_percent,
        report.throughput_error_worst_percent,
        report.real_difference_mean_percent,
        report.real_difference_worst_percent,
        report.real_halves_mean_percent,
        report.real_halves_worst_percent,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use futago_twin::scenario::Scenario;

    #[test]
    fn two_runs_differ_as_all_pairs_do_on_average() {
        assert_eq!(mean_difference(&[5.0]), 0.0);
        assert_eq!(mean_difference(&[4.0, 1.0, 3.0]), 2.0);
    }

    #[test]
    fn only_repetitions_count_that_should() {
        let pair = Pair::new(
            vec![(80.0, true), (500.0, false), (100.0, true), (120.0, true)],
            Spread::of(vec![95.0]),
        );
        assert_eq!(
            (pair.real, pair.real_least, pair.real_most),
            (100.0, 80.0, 120.0)
        );
        assert_eq!(pair.real_difference_percent, 80.0 / 3.0);
        // Of the first and the third, and of the second.
        assert_eq!(pair.real_halves_percent, 0.0);
        assert!((pair.error_percent + 5.0).abs() < 1e-9);
    }

    #[test]
    fn phases_of_one_name_repeat_each_other_where_nothing_lies_between() {
        let text = "
            cluster = { servers = 1, clients = 1 }
            machine.preset = 'workstation'
            workload.phases = [
              { mix = { create = 1 }, operations = 1, repeat = 2 },
              { mix = { stat = 1 }, operations = 1 },
              { mix = { create = 1 }, operations = 1 },
            ]";
        let scenario = Scenario::parse("s.toml", text, Path::new("."), &[]);
        let points = scenario.and_then(|scenario| scenario.points()).unwrap();
        let places: Vec<Range<usize>> = repeated(&points[0].setup.phases).collect();
        assert_eq!(places, [0..2, 2..3, 3..4]);
    }
}
