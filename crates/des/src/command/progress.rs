//! Shows the progress of a run on standard error.

use std::io::{IsTerminal, Write};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};

use super::run_options::RunOptions;
use crate::watch::Sample;

/// The form of the progress.
pub(super) enum Progress {
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere: a line a second, and one at the end.
    Lines { next_s: f64, end_s: f64 },
    /// Not at all.
    Hidden,
}

impl Progress {
    /// The form that suits the options and the terminal of this rank.
    pub fn new(options: &RunOptions, rank: u32) -> Progress {
        let on_terminal = std::io::stderr().is_terminal();
        if rank == 0 && on_terminal {
            Progress::Bar(bar(options.end))
        } else if rank == 0 && options.progress {
            let end_s = options.end;
            Progress::Lines { next_s: 1.0, end_s }
        } else {
            Progress::Hidden
        }
    }

    pub fn is_hidden(&self) -> bool {
        matches!(self, Progress::Hidden)
    }

    pub fn show(&mut self, sample: &Sample) {
        match self {
            Progress::Bar(bar) => {
                bar.set_position((sample.gvt_s * 1e3) as u64);
                bar.set_message(describe(sample));
            }
            Progress::Lines { next_s, end_s } => {
                if sample.wall_s >= *next_s || sample.gvt_s >= *end_s {
                    *next_s = sample.wall_s + 1.0;
                    // A run continues even if its progress cannot be shown.
                    let _ = writeln!(
                        std::io::stderr(),
                        "{:3.0}% {}",
                        100.0 * sample.gvt_s / *end_s,
                        describe(sample)
                    );
                }
            }
            Progress::Hidden => {}
        }
    }
}

fn bar(end_s: f64) -> ProgressBar {
    let bar = ProgressBar::new((end_s * 1e3) as u64);
    let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg} eta {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn describe(sample: &Sample) -> String {
    format!(
        "at {:.3} s, GVT {:.3} s, {} events/s, efficiency {:.2} %, {}",
        sample.simulated_s,
        sample.gvt_s,
        HumanCount(sample.events_per_s as u64),
        sample.efficiency * 100.0,
        HumanBytes(sample.resident_bytes.unwrap_or(0)),
    )
}
