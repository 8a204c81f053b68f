//! Clusters as processes: where they run, how they are started, found again and ended.

pub mod backing;
pub mod cleanup;
pub mod complaints;
pub mod cooperative;
pub mod copies;
pub mod core_dumps;
pub mod data;
pub mod fate;
pub mod launcher;
pub mod liveness;
pub mod memory;
pub mod mount_point;
pub mod mounts;
pub mod moves;
pub mod moving;
pub mod plan;
pub mod ranks;
pub mod records;
pub mod runtime_directory;
pub mod server_directory;
pub mod server_process;
pub mod settings;
pub mod spawn;

use crate::exit::{Exit, Problem};
use clap::Args;
use futago_node::Cluster;
use std::path::PathBuf;

/// Which cluster a command is about.
#[derive(Args, Clone, Debug)]
pub struct ClusterFile {
    /// The cluster file that `futago up` wrote.
    #[arg(
        id = "cluster",
        long = "cluster",
        value_name = "FILE",
        env = "FUTAGO_CLUSTER"
    )]
    pub path: PathBuf,
}

impl ClusterFile {
    /// Reads it.
    pub fn load(&self) -> anyhow::Result<Cluster> {
        Cluster::load(&self.path).map_err(|error| {
            let missing = !self.path.exists();
            let advice = if missing { "; futago up makes one" } else { "" };
            Problem::error(Exit::Failed, format!("{error}{advice}"))
        })
    }
}
