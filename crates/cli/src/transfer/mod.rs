//! Copies trees into a cluster and out of it.
//!
//! A copy keeps symbolic links, hard links, holes, permissions, times of modification, extended
//! attributes and, if root copies, owners. Each file is written under a temporary name and renamed
//! when it is complete, so that its name never leads to half a file. A file that cannot be copied
//! is reported and does not stop the others.

mod download;
mod local;
mod upload;

pub use download::Download;
pub use upload::{Place, Upload};

use crate::{
    cluster::spawn,
    exit::{Exit, Failures},
    output,
};
use serde::Serialize;
use std::sync::{Arc, atomic::AtomicBool};

/// The most bytes that one read or write copies.
const BUFFER_BYTES: u64 = 1 << 20;

/// Counts of a copy.
#[derive(Default, Serialize)]
pub struct Copied {
    /// Files; each hard link counts.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Bytes of data, without holes.
    pub bytes: u64,
}

impl Copied {
    /// One line for people.
    pub fn text(&self) -> String {
        let data = output::size(self.bytes);
        let mut text = output::counted(self.files, "file", "files");
        for (count, one, many) in [
            (self.directories, "directory", "directories"),
            (self.symlinks, "symbolic link", "symbolic links"),
        ] {
            if count > 0 {
                text = format!("{text}, {}", output::counted(count, one, many));
            }
        }
        format!("{text}, {data}\n")
    }
}

/// A running copy.
pub struct Transfer {
    /// Counts so far.
    pub copied: Copied,
    /// Failures so far.
    pub failures: Failures,
    bar: indicatif::ProgressBar,
    interrupted: Arc<AtomicBool>,
}

impl Transfer {
    /// Starts a copy. SIGINT, SIGTERM and SIGHUP end it without half a file.
    ///
    /// # Errors
    /// If signals cannot be caught.
    pub fn begin(message: &'static str) -> anyhow::Result<Self> {
        Ok(Self {
            copied: Copied::default(),
            failures: Failures::default(),
            bar: output::progress_of_bytes(message),
            interrupted: spawn::interruption()?,
        })
    }

    /// Whether a progress bar is shown.
    pub fn is_watched(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Sets the expected number of bytes, from which the progress bar derives the time left.
    pub fn set_total(&self, bytes: u64) {
        self.bar.set_length(bytes);
    }

    /// Advances the progress bar over data and holes.
    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Fails after a signal.
    fn ensure_uninterrupted(&self) -> anyhow::Result<()> {
        spawn::ensure_uninterrupted(&self.interrupted)
    }

    /// Prints the counts and returns the exit code.
    ///
    /// # Errors
    /// As [`output::print`].
    pub fn report(self, json: bool) -> anyhow::Result<Exit> {
        self.bar.finish_and_clear();
        output::print(json, &self.copied, Copied::text)?;
        Ok(self.failures.exit())
    }
}
