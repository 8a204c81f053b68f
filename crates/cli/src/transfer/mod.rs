//! Copies trees into a cluster and out of it: symbolic links as links, files of several names as one file, holes as holes,
//! with permissions, times of modification, extended attributes and, for root, owners.
//!
//! A file is written under another name and renamed when it is whole: nobody sees half of one under its name, and
//! what was there before stays until then. What cannot be copied is told, and the rest is.

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

/// How much is copied at once.
const BUFFER_BYTES: u64 = 1 << 20;

/// What was copied.
#[derive(Default, Serialize)]
pub struct Copied {
    /// Files, and further names of files.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Bytes of data; holes are none.
    pub bytes: u64,
}

impl Copied {
    /// For people.
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

/// A copy under way.
pub struct Transfer {
    /// What was copied so far.
    pub copied: Copied,
    /// What could not be.
    pub failures: Failures,
    bar: indicatif::ProgressBar,
    interrupted: Arc<AtomicBool>,
}

impl Transfer {
    /// Nothing is copied yet. Signals end the copy and leave no half file.
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

    /// Whether somebody watches, to whom the time that is left can be told if it is known how much there is.
    pub fn is_watched(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// So much is to be copied in all.
    pub fn set_total(&self, bytes: u64) {
        self.bar.set_length(bytes);
    }

    /// So much of a file was copied, or passed over as a hole.
    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Fails if the user wants it to end.
    fn ensure_uninterrupted(&self) -> anyhow::Result<()> {
        spawn::ensure_uninterrupted(&self.interrupted)
    }

    /// Tells what was copied, and how the command ends.
    ///
    /// # Errors
    /// As [`output::print`].
    pub fn report(self, json: bool) -> anyhow::Result<Exit> {
        self.bar.finish_and_clear();
        output::print(json, &self.copied, Copied::text)?;
        Ok(self.failures.exit())
    }
}
