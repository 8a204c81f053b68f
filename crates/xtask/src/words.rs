//! `cargo xtask words`: checks the wording of comments and identifiers.
//!
//! No comment line may have more than 100 columns, and no sentence may begin with *Who* or *What*.
//! A crate in [`DONE`] must have no private word, either.

mod faults;
mod sentences;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::sys::signal::{SigHandler, Signal, signal};

use crate::tally::Tally;
use crate::workspace;
use faults::Fault;

/// The crates without private words. A crate is added once it has none, and never removed.
const DONE: &[&str] = &[
    "base",
    "cli",
    "client",
    "des",
    "driver",
    "files",
    "fuse-kernel",
    "gate-fuse",
    "hammer",
    "lab",
    "node",
    "server",
    "store",
    "trace",
    "transport",
    "twin",
    "wire",
    "xtask",
];

/// The wording of one crate.
struct Report {
    name: String,
    /// Sentences of comments that begin with a relative pronoun.
    pronouns: usize,
    /// The columns of the longest comment line.
    columns: usize,
    /// Faults of comment lines and sentences, each preceded by its file and line.
    comments: Vec<String>,
    /// Private words, each preceded by its file and line.
    private_words: Vec<String>,
}

impl Report {
    fn is_done(&self) -> bool {
        DONE.contains(&self.name.as_str())
    }

    /// The faults that count.
    fn faults(&self, also: &[String]) -> impl Iterator<Item = &String> {
        let is_done = self.is_done() || also.contains(&self.name);
        let private_words = self.private_words.iter().filter(move |_| is_done);
        self.comments.iter().chain(private_words)
    }
}

/// Checks all crates, prints a table and the faults that count; true if there are none.
///
/// The private words of the crates named in `also` count, too.
pub fn run(also: &[String]) -> anyhow::Result<bool> {
    end_with_reader()?;
    let reports = crates()?
        .iter()
        .map(|folder| report(folder))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for report in &reports {
        print_row(report);
    }
    let faults = reports.iter().flat_map(|report| report.faults(also));
    let found = faults.inspect(|fault| println!("{fault}")).count();
    let passes = |report: &Report| report.faults(also).next().is_none();
    let passed: Tally = reports.iter().map(|r| Tally::of(passes(r))).sum();
    println!("\n{passed}");
    Ok(found == 0)
}

/// Lets the program end quietly once nobody reads its list, as `| head` does.
///
/// Steps and suites do without it: they have processes to end.
fn end_with_reader() -> anyhow::Result<()> {
    // SAFETY: no handler is installed, only the default action.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.context("cannot reset SIGPIPE")?;
    Ok(())
}

fn print_row(report: &Report) {
    println!(
        "| {:<12} | {:>3} sentences begin with Who or What | longest comment line {:>3} | {:>4} private words |",
        report.name,
        report.pronouns,
        report.columns,
        report.private_words.len()
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
        comments: Vec::new(),
        private_words: Vec::new(),
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
    for fault in &faults {
        let shown = format!("{}:{fault}", path.display());
        match fault {
            Fault::Banned { .. } => report.private_words.push(shown),
            Fault::LongLine { .. } | Fault::Pronoun { .. } => report.comments.push(shown),
        }
    }
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
