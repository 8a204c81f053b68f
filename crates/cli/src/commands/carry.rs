//! `futago carry`: a step of the way of a server's directory to another host.

use crate::{
    cluster::server_directory::{ServerDirectory, YES},
    exit::Exit,
    output,
};
use anyhow::Context;
use clap::{Args, ValueEnum};
use std::{
    fs::File,
    io::{stdin, stdout},
    path::PathBuf,
    time::Duration,
};

/// Arguments of `carry`.
#[derive(Args)]
pub struct Carry {
    /// The step.
    step: Step,
    /// The directory of the server, or the file of `mark` and `unmark`.
    path: PathBuf,
    /// How many seconds it waits for others that use the directory.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

/// A step.
#[derive(Clone, Copy, ValueEnum)]
enum Step {
    /// Make a file by which another host shows that it sees the same directory.
    Mark,
    /// Remove that file.
    Unmark,
    /// Say whether the directory, or the file of `mark`, is here.
    Has,
    /// Write the directory to standard output, and set it aside when standard input says so.
    Send,
    /// Read it from standard input.
    Receive,
    /// Have servers use what was received.
    Install,
    /// Remove the directory that was set aside.
    Clear,
}

impl Carry {
    /// It prints no report.
    pub const fn json(&self) -> bool {
        false
    }

    /// Does the step.
    pub fn run(self) -> anyhow::Result<Exit> {
        let path = &self.path;
        let directory = ServerDirectory::new(path, Duration::from_secs(self.wait));
        let named = || path.display().to_string();
        match self.step {
            Step::Mark => drop(File::create(path).with_context(named)?),
            Step::Unmark => std::fs::remove_file(path).with_context(named)?,
            Step::Has if path.exists() => output::write_all(YES)?,
            Step::Has => {}
            Step::Send => directory.send(stdout().lock(), stdin().lock())?,
            Step::Receive => directory.receive(stdin().lock())?,
            Step::Install => directory.install()?,
            Step::Clear => directory.clear()?,
        }
        Ok(Exit::Success)
    }
}
