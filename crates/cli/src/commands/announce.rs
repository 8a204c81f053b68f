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
use anyhow::ensure;
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
    #[arg(long, value_name = "DIR", required_unless_present = "sees")]
    here: Option<PathBuf>,
    /// Only say whether this host sees a directory.
    #[arg(long, value_name = "DIR", conflicts_with = "here")]
    sees: Option<PathBuf>,
    /// Only print what this host knows of a server process, as JSON.
    #[arg(long, value_name = "PROCESS", requires = "here")]
    fate: Option<u32>,
}

impl Announce {
    /// It prints no report.
    pub const fn json(&self) -> bool {
        false
    }

    /// Signals the processes.
    pub fn run(self) -> anyhow::Result<Exit> {
        if let Some(directory) = &self.sees {
            let place = directory.display();
            ensure!(directory.is_dir(), "this host does not see {place}");
        }
        match (&self.here, self.fate) {
            (Some(directory), Some(process)) => {
                let seen = Seen::here(directory, process);
                output::write_all(&serde_json::to_vec(&seen)?)?;
            }
            (Some(directory), None) => renew(directory)?,
            (None, _) => {}
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
