//! Runs a model with the given options, and prints the results.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::progress::Progress;
use super::run_options::RunOptions;
use crate::ranks::{Alone, Ranks, share};
use crate::watch::{Sample, Series, Statistics, TraceRow};
use crate::{Model, Outcome, ProcessId, Settings, run_on};

/// A model, and its results besides the statistics.
pub(super) struct Experiment<'a, M, P> {
    /// The name of the model.
    pub name: &'static str,
    pub model: &'a M,
    pub parameters: &'a P,
}

impl<M: Model, P: Serialize> Experiment<'_, M, P> {
    /// Runs the model on the requested ranks. `see` summarizes the processes of one rank,
    /// `conclude` those of all ranks.
    pub fn run<S, R>(
        &self,
        options: &RunOptions,
        out: &mut dyn Write,
        see: impl FnOnce(&[(ProcessId, M::Process)]) -> S,
        conclude: impl FnOnce(Vec<S>, &Statistics) -> R,
    ) -> anyhow::Result<()>
    where
        S: Serialize + DeserializeOwned,
        R: Serialize,
    {
        let settings = options.settings()?;
        if options.check {
            return check(self.model, &settings, options.json, out);
        }
        let mut ranks = ranks(options)?;
        let (outcome, samples) = watched_run(self.model, options, &settings, &mut *ranks)?;
        // Shares the results before any step that may fail on one rank alone, so that no other rank
        // waits for it.
        let seen = share(&mut *ranks, &see(&outcome.processes))?;
        if let Some(path) = &options.series {
            let lines = samples.iter().map(serde_json::to_string);
            write_lines(&ranked(path, &*ranks), lines)?;
        }
        if let Some(path) = &options.trace {
            let rows = outcome.trace.iter().map(|row| Ok(row.to_csv()));
            let header = Ok(TraceRow::CSV_HEADER.to_string());
            write_lines(&ranked(path, &*ranks), std::iter::once(header).chain(rows))?;
        }
        if ranks.rank() != 0 {
            return Ok(());
        }
        let results = conclude(seen, &outcome.statistics);
        let mut all = serde_json::to_value(&outcome.statistics)?;
        all["model"] = self.name.into();
        all["parameters"] = serde_json::to_value(self.parameters)?;
        all["results"] = serde_json::to_value(results)?;
        print(&all, options.json, out)
    }
}

/// Runs the model, shows its progress, and returns the time series if it is requested.
fn watched_run<M: Model>(
    model: &M,
    options: &RunOptions,
    settings: &Settings,
    ranks: &mut dyn Ranks,
) -> anyhow::Result<(Outcome<M::Process>, Vec<Sample>)> {
    let mut progress = Progress::new(options, ranks.rank());
    let series = match &settings.watch {
        Some(watch) if options.series.is_some() || !progress.is_hidden() => {
            let show = move |sample: &_| progress.show(sample);
            Some(Series::start(Arc::clone(watch), SAMPLE_INTERVAL, show))
        }
        _ => None,
    };
    let outcome = run_on(model, settings, ranks);
    let samples = series.map(Series::finish).unwrap_or_default();
    Ok((outcome?, samples))
}

/// Time between two samples of a run.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// Checks that the events of the model can be undone, and prints the result.
fn check<M: Model>(
    model: &M,
    settings: &Settings,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let checked = crate::check(model, settings)?;
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&checked)?)?;
    } else {
        writeln!(
            out,
            "{} events forward, back and forward again; {} taken back by random rollbacks; all \
             restored, digest {}",
            checked.events, checked.events_rolled_back, checked.digest
        )?;
    }
    Ok(())
}

/// The ranks of the mpirun that started this process, or this process alone.
pub(super) fn ranks(options: &RunOptions) -> anyhow::Result<Box<dyn Ranks>> {
    if !options.mpi {
        return Ok(Box::new(Alone));
    }
    #[cfg(feature = "mpi")]
    return Ok(Box::new(crate::ranks::MpiRanks::start()?));
    #[cfg(not(feature = "mpi"))]
    anyhow::bail!("--mpi: this program was built without MPI; build it with `--features mpi`")
}

fn print(all: &serde_json::Value, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(all)?)?;
    } else if let serde_json::Value::Object(fields) = all {
        for (name, value) in fields {
            writeln!(out, "{name:26} {value}")?;
        }
    }
    Ok(())
}

fn ranked(path: &Path, ranks: &dyn Ranks) -> PathBuf {
    if ranks.count() == 1 {
        return path.to_path_buf();
    }
    let mut name = path.as_os_str().to_os_string();
    name.push(format!(".{}", ranks.rank()));
    PathBuf::from(name)
}

fn write_lines(
    path: &Path,
    lines: impl Iterator<Item = Result<String, serde_json::Error>>,
) -> anyhow::Result<()> {
    let describe = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(std::fs::File::create(path).with_context(describe)?);
    for line in lines {
        writeln!(file, "{}", line?).with_context(describe)?;
    }
    file.flush().with_context(describe)
}
