//! `futago announce`: has server processes of this host read a new cluster file.

use crate::{
    cluster::{
        fate::Seen,
        moving,
        records::{self, Role},
        runtime_directory,
    },
    commands::serve::read_cluster,
    exit::Exit,
    output,
};
use clap::Args;
use std::{
    collections::BTreeSet,
    os::fd::AsFd,
    path::{Path, PathBuf},
};

/// Arguments of `announce`.
#[derive(Args)]
pub struct Announce {
    /// The runtime directory of the cluster, whose file comes from standard input.
    #[arg(long, value_name = "DIR")]
    here: PathBuf,
    /// Only print what this host knows of a server process, as JSON.
    #[arg(long, value_name = "PROCESS")]
    fate: Option<u32>,
}

impl Announce {
    /// It prints no report.
    pub const fn json(&self) -> bool {
        false
    }

    /// Signals the processes.
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.fate {
            Some(process) => {
                let seen = Seen::here(&self.here, process);
                output::write_all(&serde_json::to_vec(&seen)?)?;
            }
            None => renew(&self.here)?,
        }
        Ok(Exit::Success)
    }
}

/// Replaces the cluster file of each process, and signals the processes.
fn renew(directory: &Path) -> anyhow::Result<()> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let text = read_cluster(input.into())?;
    for record in records::list(directory) {
        if let Role::Server(process) = record.role {
            runtime_directory::put(directory, &format!("cluster-{process}.toml"), &text)?;
        }
    }
    moving::signal(directory, &BTreeSet::new());
    Ok(())
}
