//! `chstagein`: copies local files.

use crate::connect;
use chfs::{functions::staging::stage_in, session, settings};
use clap::Parser;
use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    process::ExitCode,
};

/// Copies local files, directories (without their entries) and symbolic links to the same paths of
/// the cluster.
#[derive(Parser)]
#[command(name = "chstagein", version, disable_version_flag = true)]
pub struct Chstagein {
    /// Without effect: requests are always under way at once.
    #[arg(short)]
    asynchronous: bool,
    /// Without effect: the size of the buffer is fixed.
    #[arg(short, value_name = "BYTES")]
    buffer_size: Option<u64>,
    /// The chunk size of the copies, in bytes.
    #[arg(short, value_name = "BYTES")]
    chunk_size: Option<i64>,
    /// The files to copy.
    #[arg(required = true)]
    files: Vec<OsString>,
    /// Print the version.
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    version: (),
}

impl Chstagein {
    /// Copies them all, and fails if one has failed.
    pub fn run(self) -> Result<ExitCode, String> {
        connect(None)?;
        if let Some(bytes) = self.chunk_size {
            settings::change(|settings| settings.set_chunk_bytes(bytes));
        }
        let mut exit = ExitCode::SUCCESS;
        for file in &self.files {
            if let Err(failed) = stage_in(file.as_bytes()) {
                // Nobody reads the reason if this fails.
                let _ = writeln!(io::stderr(), "chstagein: {}: {failed}", file.display());
                exit = ExitCode::FAILURE;
            }
        }
        session::end().map_err(|lost| lost.to_string())?;
        Ok(exit)
    }
}
