//! `futago restart`: starts a server again that has ended.

use crate::{
    cluster::{
        ClusterFile, cleanup, moving,
        records::{self, ProcessRecord, Role},
        runtime_directory,
        server_process::ServerProcess,
        spawn,
    },
    exit::{Exit, Problem},
    output,
};
use anyhow::{Context, ensure};
use clap::Args;
use futago_base::ServerId;
use futago_node::Cluster;
use serde::Serialize;
use std::{collections::BTreeSet, path::Path, time::Duration};

/// Arguments of `restart`.
///
/// With `up --data` the server comes back with what it had, and programs go on. Without, it comes
/// back empty: its files, names and data stay lost, and programs must open files again. All servers
/// of its process are started with it.
#[derive(Args)]
pub struct Restart {
    #[command(flatten)]
    cluster: ClusterFile,
    /// The server, by its number in `futago status`.
    #[arg(long, value_name = "N")]
    server: u16,
    /// If its process still runs, end it first. Without `up --data`, all that its servers hold is
    /// lost.
    #[arg(long)]
    force: bool,
    /// How many seconds it may take to get ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    process: u32,
    /// Whether they have what they had.
    durable: bool,
    servers: Vec<u16>,
}

impl Restart {
    /// Whether JSON is asked for.
    pub const fn json(&self) -> bool {
        self.json
    }

    /// Starts the server's process.
    pub fn run(self) -> anyhow::Result<Exit> {
        let interrupted = spawn::interruption()?;
        let cluster = self.cluster.load()?;
        let directory = runtime_directory::of(&cluster);
        let process = self.process(&cluster)?;
        let server = ServerProcess::load(&directory, process)?;
        let is_durable = cluster.data.is_some();
        self.make_way(process, is_durable, &directory)?;
        let mut started = Vec::new();
        let ready = server
            .start(&self.cluster.path, &directory, &mut started)
            .and_then(|()| {
                self.announce(&cluster, process);
                spawn::wait_ready(&mut started, Duration::from_secs(self.wait), &interrupted)
            });
        let servers = cluster.servers_of_process(process);
        let reached = ready.and_then(|()| {
            Ok(futago_node::ensure_reachable(
                &cluster,
                &servers,
                spawn::REACH_MAX,
            )?)
        });
        if let Err(error) = reached {
            started.iter_mut().for_each(spawn::Started::end);
            return Err(error);
        }
        self.report(process, is_durable, &servers)?;
        Ok(Exit::Success)
    }

    /// Has other processes release servers that were to move to this one when it ended.
    fn announce(&self, cluster: &Cluster, process: u32) {
        if cluster.data.is_none() {
            return;
        }
        moving::announce(&self.cluster.path, cluster, &BTreeSet::from([process]));
    }

    /// The process that hosts the server.
    fn process(&self, cluster: &Cluster) -> anyhow::Result<u32> {
        let server = cluster.servers.get(usize::from(self.server));
        let server = server.with_context(|| {
            let last = cluster.servers.len().saturating_sub(1);
            format!(
                "there is no server {}: they are numbered 0 to {last}",
                self.server
            )
        })?;
        Ok(server.process)
    }

    /// Refuses to start what runs, or ends it.
    fn make_way(&self, process: u32, is_durable: bool, directory: &Path) -> anyhow::Result<()> {
        let is_of = |record: &ProcessRecord| {
            [Role::Server(process), Role::Launcher(process)].contains(&record.role)
        };
        let records = records::list(directory).into_iter();
        let running: Vec<ProcessRecord> = records
            .filter(|record| is_of(record) && record.is_alive())
            .collect();
        if let Some(record) = running.first()
            && !self.force
        {
            let loss = if is_durable {
                ""
            } else {
                ", and loses all that it holds"
            };
            let what = format!(
                "server {} runs, as process {}; --force ends it first{loss}",
                self.server, record.pid
            );
            return Err(Problem::error(Exit::InUse, what));
        }
        cleanup::end_processes(&running, &mut Vec::new());
        ensure!(
            running.iter().all(|record| !record.is_alive()),
            "process {process} does not end"
        );
        Ok(())
    }

    fn report(&self, process: u32, durable: bool, servers: &[ServerId]) -> anyhow::Result<()> {
        let report = Report {
            process,
            durable,
            servers: servers.iter().map(|server| server.0).collect(),
        };
        output::print(self.json, &report, |report| {
            let servers: Vec<String> = report.servers.iter().map(u16::to_string).collect();
            let what = if report.durable { "as before" } else { "empty" };
            format!("ready, and {what}: server {}\n", servers.join(", "))
        })
    }
}
