//! `chmkdir`: creates a directory.

use crate::connect;
use chfs::functions::names::make_directory;
use clap::Parser;
use std::{ffi::OsString, os::unix::ffi::OsStrExt, process::ExitCode};

/// Creates a directory.
#[derive(Parser)]
#[command(name = "chmkdir", version, disable_version_flag = true)]
pub struct Chmkdir {
    /// The permission bits, in octal. Other bits count for nothing.
    #[arg(short, value_name = "MODE", default_value = "755", value_parser = octal)]
    mode: u32,
    /// Its path.
    directory: OsString,
    /// Print the version.
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    version: (),
}

impl Chmkdir {
    /// Creates it.
    pub fn run(self) -> Result<ExitCode, String> {
        connect(None)?;
        make_directory(self.directory.as_bytes(), self.mode)
            .map_err(|failed| format!("{}: {failed}", self.directory.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn octal(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8).map_err(|wrong| wrong.to_string())
}
