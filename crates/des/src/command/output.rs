//! Runs a model as the options say, shows its progress and prints its statistics.

use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;

use super::run_options::RunOptions;
use crate::ranks::{Alone, Ranks};
use crate::watch::{Sample, Series, Statistics, TraceRow};
use crate::{Model, Outcome, Settings, run_on};

/// Runs the model on the ranks that the options ask for.
pub(super) fn execute<M: Model>(
    model: &M,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
) -> anyhow::Result<Outcome<M::Process>> {
    let settings = options.settings()?;
    let series = watch_run(options, &settings, ranks.rank());
    let outcome = run_on(model, &settings, ranks);
    let samples = series.map(Series::finish);
    let outcome = outcome?;
    if let (Some(path), Some(samples)) = (&options.series, samples) {
        write_lines(
            &ranked(path, ranks),
            samples.iter().map(serde_json::to_string),
        )?;
    }
    if let Some(path) = &options.trace {
        let rows = outcome.trace.iter().map(|row| Ok(row.to_csv()));
        let header = Ok(TraceRow::CSV_HEADER.to_string());
        write_lines(&ranked(path, ranks), std::iter::once(header).chain(rows))?;
    }
    Ok(outcome)
}

/// Checks that the model's events can be undone, and says what was found.
pub(super) fn check<M: Model>(model: &M, options: &RunOptions) -> anyhow::Result<()> {
    let checked = crate::check(model, &options.settings()?)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&checked)?);
    } else {
        println!(
            "{} events forward, back and forward again; {} taken back by random rollbacks; all \
             restored, digest {}",
            checked.events, checked.events_rolled_back, checked.digest
        );
    }
    Ok(())
}

/// This process among those that mpirun started, or alone.
pub(super) fn ranks(options: &RunOptions) -> anyhow::Result<Box<dyn Ranks>> {
    if !options.mpi {
        return Ok(Box::new(Alone));
    }
    #[cfg(feature = "mpi")]
    return Ok(Box::new(crate::ranks::MpiRanks::start()?));
    #[cfg(not(feature = "mpi"))]
    anyhow::bail!("--mpi: this program was built without MPI; build it with `--features mpi`")
}

/// Prints the statistics and the model's own results, on the first rank.
pub(super) fn print(
    options: &RunOptions,
    ranks: &dyn Ranks,
    statistics: &Statistics,
    (name, model): (&str, &impl Serialize),
    results: &impl Serialize,
) -> anyhow::Result<()> {
    if ranks.rank() != 0 {
        return Ok(());
    }
    let mut all = serde_json::to_value(statistics)?;
    all["model"] = name.into();
    all["parameters"] = serde_json::to_value(model)?;
    all["results"] = serde_json::to_value(results)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    if let serde_json::Value::Object(fields) = &all {
        for (name, value) in fields {
            println!("{name:26} {value}");
        }
    }
    Ok(())
}

fn watch_run(options: &RunOptions, settings: &Settings, rank: u32) -> Option<Series> {
    let visible = rank == 0 && (options.progress || std::io::stderr().is_terminal());
    if !visible && options.series.is_none() {
        return None;
    }
    let watch = Arc::clone(settings.watch.as_ref()?);
    let bar = if visible {
        progress_bar(options.end)
    } else {
        ProgressBar::hidden()
    };
    let show = move |sample: &Sample| show_progress(&bar, sample);
    Some(Series::start(watch, Duration::from_millis(100), show))
}

fn progress_bar(end_s: f64) -> ProgressBar {
    let bar = ProgressBar::new((end_s * 1e3) as u64);
    let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg} eta {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn show_progress(bar: &ProgressBar, sample: &Sample) {
    bar.set_position((sample.gvt_s * 1e3) as u64);
    bar.set_message(format!(
        "at {:.3} s, GVT {:.3} s, {} events/s, efficiency {:.2} %, {}",
        sample.simulated_s,
        sample.gvt_s,
        HumanCount(sample.events_per_s as u64),
        sample.efficiency * 100.0,
        HumanBytes(sample.resident_bytes.unwrap_or(0)),
    ));
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
