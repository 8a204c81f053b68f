//! `chlist`: lists the servers.

use crate::{connect, print};
use chfs::session;
use clap::Parser;
use std::process::ExitCode;

/// Lists the servers of the cluster.
#[derive(Parser)]
#[command(name = "chlist", version, disable_version_flag = true)]
pub struct Chlist {
    /// Print a value for CHFS_SERVER instead.
    #[arg(short)]
    csv: bool,
    /// The most servers that are listed.
    #[arg(short, value_name = "SERVERS")]
    number: Option<usize>,
    /// The cluster file; CHFS_SERVER names it otherwise.
    #[arg(short, value_name = "FILE")]
    server: Option<String>,
    /// Print the version.
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    version: (),
}

impl Chlist {
    /// Lists them.
    pub fn run(self) -> Result<ExitCode, String> {
        connect(self.server.as_deref())?;
        let text = match self.csv {
            true => session::cluster_file().display().to_string() + "\n",
            false => session::addresses()
                .iter()
                .take(self.number.unwrap_or(usize::MAX))
                .map(|address| format!("{address}\n"))
                .collect(),
        };
        print(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}
