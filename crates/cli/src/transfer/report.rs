//! The report of a copy.

use crate::{exit::Exit, output};
use futago_staging::{Counts, Failure, Reach, Summary};
use serde::Serialize;
use std::time::Duration;

/// The report of a copy.
#[derive(Serialize)]
pub struct Report {
    /// Whether the target has everything.
    complete: bool,
    #[serde(flatten)]
    counts: Counts,
    seconds: f64,
    bytes_per_second: f64,
    /// The number of nodes whose copy failed.
    failed: u64,
    /// The number of nodes that were not tried, because the copy ended early.
    left: u64,
    /// The first failures.
    failures: Vec<Failed>,
    #[serde(skip)]
    ended_by: Option<Reach>,
}

/// A node that was not copied.
#[derive(Serialize)]
struct Failed {
    path: String,
    error: String,
}

impl From<&Failure> for Failed {
    fn from(failure: &Failure) -> Self {
        Self {
            path: failure.path.to_string(),
            error: format!("{}: {}", failure.action, failure.cause),
        }
    }
}

impl Report {
    /// The report of a copy that took so long.
    pub fn new(summary: Summary, took: Duration) -> Self {
        let seconds = took.as_secs_f64();
        Self {
            complete: summary.is_complete(),
            counts: summary.counts,
            seconds,
            bytes_per_second: summary.counts.bytes as f64 / seconds.max(1e-9),
            failed: summary.failed,
            left: summary.left,
            failures: summary.failures.iter().map(Failed::from).collect(),
            ended_by: summary.ended_by,
        }
    }

    /// How the command ends.
    pub const fn exit(&self) -> Exit {
        match self.ended_by {
            Some(Reach::Interrupted) => Exit::Interrupted,
            Some(Reach::Unreachable) => Exit::Unreachable,
            Some(Reach::Refused) => Exit::Failed,
            _ if self.failed > 0 => Exit::Wrong,
            _ => Exit::Success,
        }
    }

    /// Lines for people.
    pub fn text(&self) -> String {
        let counts = &self.counts;
        let mut parts = vec![output::counted(counts.files, "file", "files")];
        for (count, one, many) in [
            (counts.directories, "directory", "directories"),
            (counts.symlinks, "symbolic link", "symbolic links"),
            (counts.specials, "special file", "special files"),
            (counts.unchanged, "unchanged", "unchanged"),
        ] {
            if count > 0 {
                parts.push(output::counted(count, one, many));
            }
        }
        let rate = output::size(self.bytes_per_second as u64);
        parts.push(format!("{} ({rate}/s)", output::size(counts.bytes)));
        parts.join(", ") + "\n" + &self.incomplete()
    }

    /// A line about what is missing.
    fn incomplete(&self) -> String {
        if self.complete {
            return String::new();
        }
        let left = match self.left {
            0 => String::new(),
            left => format!(", and at least {left} not tried"),
        };
        let advice = "the same command copies what is missing";
        format!("incomplete: {} failed{left}; {advice}\n", self.failed)
    }
}
