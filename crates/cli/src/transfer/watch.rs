//! The progress bar of a copy, and the messages about what is not copied.

use crate::output;
use futago_staging::{Failure, Progress};
use std::sync::atomic::{AtomicU64, Ordering};

/// The most failures that are printed one by one.
const PRINTED_MAX: u64 = 20;

/// Watches a copy for people.
pub struct Watch {
    bar: indicatif::ProgressBar,
    expected: AtomicU64,
    failed: AtomicU64,
}

impl Watch {
    /// A progress bar with this message, if standard error is a terminal.
    pub fn new(message: &'static str) -> Self {
        Self {
            bar: output::progress_of_bytes(message),
            expected: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// Removes the bar, and prints how many failures were not printed.
    pub fn end(&self) {
        self.bar.finish_and_clear();
        let failed = self.failed.load(Ordering::Relaxed);
        if let Some(rest @ 1..) = failed.checked_sub(PRINTED_MAX) {
            output::notice(format_args!("futago: {rest} more were not copied"));
        }
    }
}

impl Progress for Watch {
    fn expect(&self, bytes: u64) {
        let before = self.expected.fetch_add(bytes, Ordering::Relaxed);
        self.bar.set_length(before + bytes);
    }

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn fail(&self, failure: &Failure) {
        if self.failed.fetch_add(1, Ordering::Relaxed) < PRINTED_MAX {
            self.bar
                .suspend(|| output::notice(format_args!("futago: {failure}")));
        }
    }
}
