//! Ending what belongs to a cluster, also what a crash has left behind.

use super::{
    launcher::Launcher,
    mounts,
    records::{self, ProcessRecord, Role},
    runtime_directory, spawn,
};
use crate::{
    exit::{Exit, Problem},
    output,
};
use anyhow::{Context, ensure};
use futago_node::Cluster;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// The processes and mounts that were ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Servers' processes that ran.
    pub servers: usize,
    /// Mounts, dead ones included, escaped as [`output::escape`] does.
    pub mounts: Vec<String>,
    /// Processes that did not end by themselves and were killed.
    pub killed: Vec<i32>,
    /// The items that could not be cleaned up, with reasons.
    pub problems: Vec<String>,
}

/// Ends the processes and mounts of a cluster on this host and removes its runtime directory.
pub fn on_this_host(directory: &Path) -> Ended {
    let mut ended = Ended::default();
    let records = records::list(directory);
    for record in &records {
        if let Role::Mount(path) = &record.role {
            end_mount(path, &mut ended);
        }
    }
    // Clients end first, because they have something to say to servers.
    let (clients, others): (Vec<_>, Vec<_>) = records
        .into_iter()
        .filter(ProcessRecord::is_alive)
        .partition(|record| matches!(record.role, Role::Mount(_) | Role::Backing));
    ended.servers = others
        .iter()
        .filter(|r| matches!(r.role, Role::Server(_)))
        .count();
    end_processes(&clients, &mut ended.killed);
    end_processes(&others, &mut ended.killed);
    if let Err(error) = runtime_directory::remove(directory) {
        ended
            .problems
            .push(format!("removing {}: {error:#}", directory.display()));
    }
    ended
}

impl Ended {
    fn add(&mut self, other: Self) {
        self.servers += other.servers;
        self.mounts.extend(other.mounts);
        self.killed.extend(other.killed);
        self.problems.extend(other.problems);
    }
}

fn end_mount(path: &Path, ended: &mut Ended) {
    if !mounts::is_mounted(path) {
        return;
    }
    match mounts::unmount(path, true) {
        Ok(()) => ended.mounts.push(output::escape_path(path)),
        Err(error) => ended.problems.push(format!("{error:#}")),
    }
}

/// Has processes end by themselves, and kills those that do not; `killed` gets their numbers.
pub fn end_processes(records: &[ProcessRecord], killed: &mut Vec<i32>) {
    for record in records {
        send(record, Signal::TERM);
    }
    let gone = || records.iter().all(|record| !record.is_alive());
    if spawn::wait_until(spawn::END_TIMEOUT, gone) {
        return;
    }
    for record in records.iter().filter(|record| record.is_alive()) {
        send(record, Signal::KILL);
        killed.push(record.pid);
    }
    spawn::wait_until(spawn::END_TIMEOUT, gone);
}

/// Sends a signal to a process.
pub fn send(record: &ProcessRecord, signal: Signal) {
    if let Some(pid) = Pid::from_raw(record.pid)
        && record.is_alive()
    {
        // It may have ended since; then there is nothing to do.
        let _ = kill_process(pid, signal);
    }
}

/// Ends a cluster everywhere: on its other hosts through its launcher, then here.
pub fn everywhere(cluster: &Cluster) -> anyhow::Result<Ended> {
    let directory = runtime_directory::of(cluster);
    let hosts: BTreeSet<&String> = cluster
        .servers
        .iter()
        .filter_map(|s| s.host.as_ref())
        .collect();
    let launcher = cluster.launcher.as_deref().map(Launcher::parse);
    let launcher = launcher.transpose()?;
    let mut ended = Ended::default();
    for host in hosts
        .into_iter()
        .filter(|host| launcher.is_some() || !is_this_host(host))
    {
        match on_other_host(launcher.as_ref(), host, &directory) {
            Ok(there) => ended.add(there),
            Err(error) => ended.problems.push(format!("{error:#}")),
        }
    }
    ended.add(on_this_host(&directory));
    Ok(ended)
}

fn is_this_host(host: &str) -> bool {
    fs::read_to_string("/proc/sys/kernel/hostname").is_ok_and(|name| name.trim() == host)
}

fn on_other_host(
    launcher: Option<&Launcher>,
    host: &str,
    directory: &Path,
) -> anyhow::Result<Ended> {
    let launcher = launcher.with_context(|| {
        format!(
            "cleaning up on {host}: the cluster file names no launcher; end its processes there"
        )
    })?;
    let command = [
        std::env::current_exe()?.into(),
        "down".into(),
        "--here".into(),
        directory.into(),
        "--json".into(),
    ];
    let line = launcher.command_line(host, &command);
    let output = Command::new(&line[0])
        .args(&line[1..])
        .output()
        .with_context(|| format!("cleaning up on {host}: running {}", line[0].display()))?;
    serde_json::from_slice(&output.stdout).with_context(|| {
        let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        format!("cleaning up on {host}: {error}")
    })
}

/// Whether anything of the cluster still runs here.
pub fn is_running(cluster: &Cluster) -> bool {
    let directory = runtime_directory::of(cluster);
    records::list(&directory)
        .iter()
        .any(ProcessRecord::is_alive)
}
/// Makes a path free for a new cluster file: takes away what a crashed cluster has left.
///
/// # Errors
/// If the cluster of the file runs ([`Exit::InUse`]), or cannot be cleaned up.
pub fn make_way(path: &Path) -> anyhow::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let old = Cluster::load(path)
        .with_context(|| format!("{} exists and is no cluster file", path.display()))?;
    if is_running(&old) {
        return Err(Problem::error(
            Exit::InUse,
            format!(
                "the cluster of {path} is running; end it with futago down --cluster {path}, or \
                 take another file",
                path = path.display()
            ),
        ));
    }
    let ended = everywhere(&old)?;
    ensure!(
        ended.problems.is_empty(),
        "what the last cluster of {} left cannot be cleaned up: {}",
        path.display(),
        ended.problems.join("; ")
    );
    fs::remove_file(path).with_context(|| format!("removing {}", path.display()))
}
