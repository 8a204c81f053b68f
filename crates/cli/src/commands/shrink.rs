//! `futago shrink`: fewer processes for the servers of a cluster.

use crate::{
    cluster::{
        ClusterFile,
        moves::{self, Move, Processes},
        moving::{Divided, Moving},
        spawn,
    },
    exit::Exit,
    output,
};
use anyhow::Context;
use clap::Args;
use futago_base::ServerId;
use futago_node::Cluster;
use serde::Serialize;

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
        let mut moving = Moving::begin(&self.cluster, self.wait, &interrupted)?;
        let process = self.process(&moving.cluster)?;
        let mut processes = Processes::of(&moving.cluster);
        let moves = processes.clear(process)?;
        moving.settle(Some(process))?;
        let entries = processes.entries(&moving.cluster, &moves, self.port)?;
        let Divided { shared, copied } = moving.divide(&moves, &entries)?;
        for moved in &copied {
            let at = usize::from(moved.server);
            let before = moving.cluster.servers[at].clone();
            moving.copy(moved, &entries[at])?;
            moving.serve_copied(moved, &[], &before)?;
        }
        moving.end_with(process, entries, &shared)?;
        let report = Report {
            epoch: moving.cluster.epoch,
            processes: processes.count(),
            ended: process,
            moves,
        };
        output::print(self.json, &report, text)?;
        Ok(Exit::Success)
    }

    /// The process that ends.
    fn process(&self, cluster: &Cluster) -> anyhow::Result<u32> {
        let entry = cluster.server(ServerId(self.server));
        let entry = entry.with_context(|| format!("there is no server {}", self.server))?;
        Ok(entry.process)
    }
}

fn text(report: &Report) -> String {
    let moves = moves::text(&report.moves);
    let (processes, ended) = (report.processes, report.ended);
    format!("{moves}{processes} server process(es), ended: {ended}\n")
}
