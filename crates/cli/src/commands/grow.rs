//! `futago grow`: more processes for the servers of a cluster.

use crate::{
    cluster::{
        ClusterFile,
        moves::{self, Move, Processes},
        moving::{Divided, Moving, replaced},
        server_process::ServerProcess,
        spawn,
    },
    exit::Exit,
    output,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_node::ServerEntry;
use serde::Serialize;

/// Arguments of `grow`.
///
/// Servers move from the processes that have the most, so that all have equal shares. Files,
/// programs and mounts go on. The cluster must have been made with `up --data`, and with more
/// servers than processes (`up --shards`).
#[derive(Args)]
pub struct Grow {
    #[command(flatten)]
    cluster: ClusterFile,
    /// How many more server processes. 0 finishes what an interrupted `grow` or `shrink` has begun,
    /// and makes shares equal.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=4096))]
    servers: u32,
    /// The hosts of the new processes, round robin. One that does not see the directory of `--data`
    /// gets a copy of each server that moves there. By default they run on the cluster's hosts.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    hosts: Vec<String>,
    /// The first TCP port on a new host.
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
    started: Vec<u32>,
    moves: Vec<Move>,
}

impl Grow {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Starts processes and moves servers to them. If they do not start, all stays as it was.
    pub fn run(self) -> anyhow::Result<Exit> {
        let interrupted = spawn::interruption()?;
        let mut moving = Moving::begin(&self.cluster, self.wait, &interrupted)?;
        let mut processes = Processes::of(&moving.cluster);
        self.ensure_enough(moving.cluster.servers.len(), processes.count())?;
        moving.settle(None)?;
        let added = self.add(&moving, &mut processes)?;
        let moves = processes.balance();
        if !moves.is_empty() {
            let entries = processes.entries(&moving.cluster, &moves, self.port)?;
            move_all(&mut moving, &moves, &entries, &added)?;
        }
        let report = Report {
            epoch: moving.cluster.epoch,
            processes: processes.count(),
            started: added.iter().map(|process| process.process).collect(),
            moves,
        };
        output::print(self.json, &report, text).map(|()| Exit::Success)
    }

    /// Refuses more processes than servers.
    fn ensure_enough(&self, servers: usize, processes: usize) -> anyhow::Result<()> {
        let wanted = processes + self.servers as usize;
        ensure!(
            servers >= wanted,
            "{wanted} processes cannot share the {} of this cluster, which is fixed; futago up \
             --shards makes a cluster with more",
            output::counted(servers as u64, "server", "servers"),
        );
        Ok(())
    }

    /// The new processes.
    fn add(
        &self,
        moving: &Moving<'_>,
        processes: &mut Processes,
    ) -> anyhow::Result<Vec<ServerProcess>> {
        let first = processes
            .numbers()
            .next()
            .context("the cluster has no processes")?;
        let template = ServerProcess::load(&moving.directory, first)?;
        let is_spread = template.host.is_some();
        ensure!(
            is_spread || self.hosts.is_empty(),
            "this cluster was made for one host; futago up --hosts makes one for several"
        );
        let hosts = match self.hosts.is_empty() {
            true => processes.hosts(),
            false => self.hosts.iter().cloned().map(Some).collect(),
        };
        let hosts = hosts.into_iter().cycle().take(self.servers as usize);
        hosts
            .map(|host| template.another(processes.add(host.clone()), host))
            .collect()
    }
}

/// Moves servers to their processes: those of a new host one after the other, because nobody serves
/// them while they are copied.
fn move_all(
    moving: &mut Moving<'_>,
    moves: &[Move],
    entries: &[ServerEntry],
    added: &[ServerProcess],
) -> anyhow::Result<()> {
    let Divided { shared, copied } = moving.divide(moves, entries)?;
    for process in added {
        process.save(&moving.directory)?;
    }
    if !shared.is_empty() {
        let goes_on = |process: &&ServerProcess| shared.iter().any(|it| it.to == process.process);
        let added: Vec<_> = added.iter().filter(goes_on).cloned().collect();
        let servers = replaced(&moving.cluster.servers, &shared, entries);
        moving.start_with(&added, servers)?;
        moving.wait_until_moved(&shared)?;
    }
    for moved in &copied {
        let at = usize::from(moved.server);
        let before = moving.cluster.servers[at].clone();
        moving.copy(moved, &entries[at])?;
        moving.serve_copied(moved, added, &before)?;
    }
    Ok(())
}

fn text(report: &Report) -> String {
    let mut text = moves::text(&report.moves);
    let started: Vec<String> = report.started.iter().map(u32::to_string).collect();
    text += &format!("{} server process(es)", report.processes);
    if !started.is_empty() {
        text += &format!(", new: {}", started.join(", "));
    }
    text + "\n"
}
