//! `futago shrink`: fewer processes for the servers of a cluster.

use crate::{
    cluster::{
        ClusterFile,
        moves::{self, Move, Processes},
        moving::{self, Moving},
        server_process::ServerProcess,
        spawn,
    },
    exit::Exit,
    output,
};
use anyhow::{Context, ensure};
use clap::Args;
use serde::Serialize;
use std::{collections::BTreeSet, path::Path, time::Duration};

/// Arguments of `shrink`.
///
/// The servers of one process move to the others, and the process ends. Files, programs and mounts
/// go on. The cluster must have been made with `up --data`.
#[derive(Args)]
pub struct Shrink {
    #[command(flatten)]
    cluster: ClusterFile,
    /// One of the servers of the process that ends, by its number in `futago status`.
    #[arg(long, value_name = "N")]
    server: u16,
    /// The first TCP port on a host that has no servers yet.
    #[arg(long, default_value_t = 7330)]
    port: u16,
    /// How many seconds it may take until the servers are where they belong.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    /// The version of the cluster map.
    epoch: u32,
    /// The processes in all.
    processes: usize,
    ended: u32,
    moves: Vec<Move>,
}

impl Shrink {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Moves the servers away and ends their process.
    pub fn run(self) -> anyhow::Result<Exit> {
        let interrupted = spawn::interruption()?;
        let wait = Duration::from_secs(self.wait);
        let mut moving = Moving::begin(&self.cluster, wait, &interrupted)?;
        let entry = moving.cluster.servers.get(usize::from(self.server));
        let missing = || format!("there is no server {}", self.server);
        let process = entry.with_context(missing)?.process;
        let mut processes = Processes::of(&moving.cluster);
        let moves = processes.clear(process)?;
        let entries = processes.entries(&moving.cluster, &moves, self.port)?;
        moving.settle(Some(process))?;
        moving.ensure_seen(&moves, &entries)?;
        // The process that ends is on a host that may have no other.
        let before = moving.cluster.clone();
        moving.replace(entries)?;
        moving::announce(&self.cluster.path, &before, &BTreeSet::new())?;
        moving.wait_until_moved(&moves)?;
        wait_for_end(&moving.directory, process, wait)?;
        ServerProcess::forget(&moving.directory, process);
        let report = Report {
            epoch: moving.cluster.epoch,
            processes: processes.count(),
            ended: process,
            moves,
        };
        output::print(self.json, &report, text)?;
        Ok(Exit::Success)
    }
}

/// Waits until a process without servers has ended.
fn wait_for_end(directory: &Path, process: u32, wait: Duration) -> anyhow::Result<()> {
    let has_ended = || !moving::is_running(directory, process);
    ensure!(
        spawn::wait_until(wait, has_ended),
        "process {process} has no servers any more, and does not end"
    );
    Ok(())
}

fn text(report: &Report) -> String {
    let mut text = moves::text(&report.moves);
    text += &format!(
        "{} server process(es), ended: {}\n",
        report.processes, report.ended
    );
    text
}
