//! `cargo xtask words`: checks the wording of comments and identifiers.
//!
//! A crate in [`DONE`] must have no fault. The sentences that begin with *Who* or *What* are
//! counted in every crate, so that the table shows how much is left.

mod faults;
mod sentences;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::tally::Tally;
use crate::workspace;
use faults::Fault;

/// The crates whose wording is checked. A crate is added once it has no fault, and never removed.
const DONE: &[&str] = &[
    "base",
    "fuse-kernel",
    "hammer",
    "node",
    "store",
    "trace",
    "transport",
    "wire",
];

/// The wording of one crate.
struct Report {
    name: String,
    /// Sentences of comments that begin with a relative pronoun.
    pronouns: usize,
    /// The columns of the longest comment line.
    columns: usize,
    /// Faults, each preceded by its file and line.
    faults: Vec<String>,
}

impl Report {
    fn is_done(&self) -> bool {
        DONE.contains(&self.name.as_str())
    }

    fn passes(&self) -> bool {
        !self.is_done() || self.faults.is_empty()
    }
}

/// Checks all crates, prints a table and the faults of crates that are done; true if none has any.
///
/// The crates named in `also` are checked as if they were done.
pub fn run(also: &[String]) -> anyhow::Result<bool> {
    let reports = crates()?
        .iter()
        .map(|folder| report(folder))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for report in &reports {
        print_row(report);
    }
    let checked = |report: &&Report| report.is_done() || also.contains(&report.name);
    let faults = reports.iter().filter(checked).flat_map(|r| &r.faults);
    let found = faults.inspect(|fault| println!("{fault}")).count();
    let passed: Tally = reports.iter().map(|r| Tally::of(r.passes())).sum();
    println!("\n{passed}");
    Ok(found == 0)
}

fn print_row(report: &Report) {
    println!(
        "| {:<12} | {:<5} | {:>3} sentences begin with Who or What | longest comment line {:>3} |",
        report.name,
        if report.is_done() { "done" } else { "" },
        report.pronouns,
        report.columns
    );
}

/// The folders of the workspace's crates, in order of their names.
fn crates() -> anyhow::Result<Vec<PathBuf>> {
    let folder = workspace::root().join("crates");
    let mut found = children(&folder)?;
    found.retain(|path| path.join("Cargo.toml").is_file());
    Ok(found)
}

fn report(folder: &Path) -> anyhow::Result<Report> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut report = Report {
        name: name.into_owned(),
        pronouns: 0,
        columns: 0,
        faults: Vec::new(),
    };
    for path in rust_files(folder)? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let shown = path.strip_prefix(workspace::root()).unwrap_or(&path);
        add(&mut report, shown, &text);
    }
    Ok(report)
}

/// Adds the wording of one file to the report of its crate.
fn add(report: &mut Report, path: &Path, text: &str) {
    let source = source::parse(text);
    let faults = faults::find(&source);
    let is_pronoun = |fault: &&Fault| matches!(fault, Fault::Pronoun { .. });
    report.pronouns += faults.iter().filter(is_pronoun).count();
    let columns = source.comments.iter().map(|line| line.columns).max();
    report.columns = report.columns.max(columns.unwrap_or(0));
    let shown = |fault: &Fault| format!("{}:{fault}", path.display());
    report.faults.extend(faults.iter().map(shown));
}

/// All Rust files below a folder, in order; build output is passed over.
fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in children(folder)? {
        if path.is_dir() && !path.ends_with("target") {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

fn children(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}
