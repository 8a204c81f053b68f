//! `futago lab`: studies with reports.

use crate::{
    exit::{Exit, Problem},
    output,
    simulation::{self, VERSION, sweep},
};
use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use futago_lab::{
    report::{self, FigureReport, Heading},
    results::PointResult,
    study::{self, Archive, Figure, STUDY_FILE, Study, key},
};
use futago_twin::scenario::Point;
use serde_json::{Map, Value};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command as Process, Stdio},
};

/// Arguments of `lab`.
#[derive(Args)]
pub struct Lab {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a study and write its report: HTML, and CSV and JSON for every figure. Points that the
    /// same program has already run are not run again.
    Run(Run),
}

#[derive(Args)]
struct Run {
    /// A study by its name, a directory with a study, or `all`.
    study: String,
    /// Where to write; a directory for each study.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Where studies lie.
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,
    /// Run this figure only; may be repeated.
    #[arg(long, value_name = "NAME")]
    figure: Vec<String>,
    /// Set a value of every scenario, such as `workload.phases.0.measured_ms=100`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    options: Vec<String>,
    /// How many points to run at a time; by default as many as there are cores.
    #[arg(long)]
    jobs: Option<usize>,
}

impl Lab {
    /// Studies tell their errors as text.
    pub const fn json(&self) -> bool {
        false
    }

    /// Runs studies.
    pub fn run(self) -> anyhow::Result<Exit> {
        let Command::Run(run) = self.command;
        for directory in run.directories()? {
            run.study(&directory)?;
        }
        Ok(Exit::Success)
    }
}

impl Run {
    fn directories(&self) -> anyhow::Result<Vec<PathBuf>> {
        let at = &self.experiments;
        if self.study == "all" {
            let all = study::all(at).with_context(|| format!("no studies in {}", at.display()))?;
            ensure!(!all.is_empty(), "no studies in {}", at.display());
            return Ok(all);
        }
        let named = [PathBuf::from(&self.study), at.join(&self.study)];
        let found = named
            .into_iter()
            .find(|path| path.join(STUDY_FILE).is_file());
        found.map(|path| vec![path]).ok_or_else(|| {
            let message = format!(
                "there is no study {} here nor in {}",
                self.study,
                at.display()
            );
            Problem::error(Exit::Usage, message)
        })
    }

    fn study(&self, directory: &Path) -> anyhow::Result<()> {
        let study = Study::load(directory).map_err(simulation::mistake)?;
        let name = directory.file_name().unwrap_or_default();
        let out = self.out.join(name);
        fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        let mut reports = Vec::new();
        for figure in &study.figures {
            if self.figure.is_empty() || self.figure.contains(&figure.name) {
                reports.push(self.figure(figure, directory, &out)?);
            }
        }
        ensure!(!reports.is_empty(), "the study has no such figure");
        let heading = Heading {
            title: study.title,
            about: study.about,
            version: simulation::fingerprint()?,
        };
        let page = out.join("report.html");
        fs::write(&page, report::html(&heading, &reports)?)
            .with_context(|| format!("cannot write {}", page.display()))?;
        output::write_all(format!("{}\n", page.display()).as_bytes())
    }

    /// Runs what is left to run of a figure, and writes its table.
    fn figure(
        &self,
        figure: &Figure,
        directory: &Path,
        out: &Path,
    ) -> anyhow::Result<FigureReport> {
        let points = simulation::points(&directory.join(&figure.scenario), &self.options)?;
        let results = self.results(figure, &points, out)?;
        let checks = check(figure, directory, &results)
            .with_context(|| format!("the check of figure {}", figure.name))?;
        let report = FigureReport {
            figure: figure.clone(),
            scenario: simulation::first_document(&points),
            points: results,
            checks,
        };
        let csv = out.join(format!("{}.csv", figure.name));
        let file =
            fs::File::create(&csv).with_context(|| format!("cannot write {}", csv.display()))?;
        report.table().write_csv(file)?;
        Ok(report)
    }

    fn results(
        &self,
        figure: &Figure,
        points: &[Point],
        out: &Path,
    ) -> anyhow::Result<Vec<PointResult>> {
        let path = out.join(format!("{}.json", figure.name_of_points()));
        let mut archive = Archive::open(&path, &simulation::fingerprint()?)?;
        let keys = points
            .iter()
            .map(|point| key(&point.document, point.setup.seed));
        let keys: Vec<String> = keys.collect();
        let left: Vec<usize> = (0..points.len())
            .filter(|place| archive.get(&keys[*place]).is_none())
            .collect();
        let jobs = if figure.alone {
            1
        } else {
            sweep::jobs(self.jobs, points)
        };
        output::notice(format_args!(
            "{}: {} of {} points to run",
            figure.name,
            left.len(),
            points.len()
        ));
        let bar = output::progress(left.len() as u64, "points");
        let to_run: Vec<&Point> = left.iter().map(|place| &points[*place]).collect();
        sweep::run(&to_run, jobs, |number, result| {
            bar.inc(1);
            Ok(archive.put(keys[left[number]].clone(), result)?)
        })?;
        bar.finish_and_clear();
        archive.write(&keys)?;
        let own = out.join(format!("{}.json", figure.name));
        if own != path {
            fs::copy(&path, &own).with_context(|| format!("cannot write {}", own.display()))?;
        }
        let results = keys.iter().map(|key| archive.get(key).cloned());
        results
            .collect::<Option<Vec<_>>>()
            .context("a point ended without a result")
    }
}

/// Asks the figure's own command for further columns.
fn check(
    figure: &Figure,
    directory: &Path,
    results: &[PointResult],
) -> anyhow::Result<Vec<Map<String, Value>>> {
    let Some((program, arguments)) = figure.check.split_first() else {
        return Ok(Vec::new());
    };
    let mut child = Process::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    let input = serde_json::to_vec(&serde_json::json!({ "version": VERSION, "points": results }))?;
    let mut pipe = child.stdin.take().context("no pipe to the command")?;
    // A command that ends without reading reports the reason by its exit code.
    let written = pipe.write_all(&input);
    drop(pipe);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{program} ended with {}", output.status);
    }
    written.context("writing to the command")?;
    let rows: Vec<Map<String, Value>> = serde_json::from_slice(&output.stdout)
        .context("the command printed something else than a list")?;
    ensure!(
        rows.len() == results.len(),
        "the command printed {} rows for {} points",
        rows.len(),
        results.len()
    );
    Ok(rows)
}
