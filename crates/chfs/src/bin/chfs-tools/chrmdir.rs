//! `chrmdir`: removes a directory.

use crate::connect;
use chfs::functions::names::remove_directory;
use clap::Parser;
use std::{ffi::OsString, os::unix::ffi::OsStrExt, process::ExitCode};

/// Removes an empty directory.
#[derive(Parser)]
#[command(name = "chrmdir", version, disable_version_flag = true)]
pub struct Chrmdir {
    /// Its path.
    directory: OsString,
    /// Print the version.
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    version: (),
}

impl Chrmdir {
    /// Removes it.
    pub fn run(self) -> Result<ExitCode, String> {
        connect(None)?;
        remove_directory(self.directory.as_bytes())
            .map_err(|failed| format!("{}: {failed}", self.directory.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
