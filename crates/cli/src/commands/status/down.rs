//! Since when servers are down, and why.

use crate::cluster::{
    complaints::Complaint,
    fate::{Down, Fate, Seen},
    launcher,
    records::{self, Role},
    runtime_directory,
    server_process::ServerProcess,
};
use futago_base::ServerId;
use futago_node::{Cluster, ServerEntry};
use jiff::Timestamp;
use std::{collections::BTreeMap, fs, path::PathBuf, thread, time::Duration};

/// A process with servers that do not answer.
struct Silent<'a> {
    cluster: &'a Cluster,
    directory: PathBuf,
    process: u32,
    host: Option<&'a str>,
    servers: Vec<u16>,
}

/// The reasons of servers that do not answer. Each of their hosts may take so long.
pub fn reasons(cluster: &Cluster, servers: &[u16], wait: Duration) -> BTreeMap<u16, Down> {
    let mut processes: BTreeMap<u32, Silent<'_>> = BTreeMap::new();
    for &server in servers {
        if let Some(entry) = cluster.server(ServerId(server)) {
            let process = processes.entry(entry.process);
            let silent = process.or_insert_with(|| Silent::of(cluster, entry));
            silent.servers.push(server);
        }
    }
    let processes = processes.values();
    thread::scope(|scope| {
        let asked: Vec<_> = processes
            .map(|it| scope.spawn(move || it.reasons(wait)))
            .collect();
        let answers = asked.into_iter().filter_map(|asked| asked.join().ok());
        answers.flatten().collect()
    })
}

impl<'a> Silent<'a> {
    fn of(cluster: &'a Cluster, entry: &'a ServerEntry) -> Self {
        Self {
            cluster,
            directory: runtime_directory::of(cluster),
            process: entry.process,
            host: entry.host.as_deref(),
            servers: Vec::new(),
        }
    }

    fn reasons(&self, wait: Duration) -> Vec<(u16, Down)> {
        let seen = self.seen(wait);
        let reason = |&server| (server, self.reason(server, &seen));
        self.servers.iter().map(reason).collect()
    }

    /// The knowledge of it at the host of the process.
    fn seen(&self, wait: Duration) -> anyhow::Result<Option<Seen>> {
        let Some(host) = self.host else {
            return Ok(Seen::here(&self.directory, self.process));
        };
        let words = [
            "announce".into(),
            "--here".into(),
            self.directory.clone().into(),
            "--fate".into(),
            self.process.to_string().into(),
        ];
        let answer = launcher::ask_on(self.cluster, host, &words, wait)?;
        Ok(serde_json::from_slice(&answer)?)
    }

    fn reason(&self, server: u16, seen: &anyhow::Result<Option<Seen>>) -> Down {
        match seen {
            Ok(Some(seen)) => seen.explain(self.complaint(server, seen).as_ref()),
            Ok(None) => {
                let (process, directory) = (self.process, self.directory.display());
                let place = self.host.unwrap_or("this host");
                let reason = format!("{place} has no record of process {process} in {directory}");
                Down::new(None, reason)
            }
            Err(error) => {
                let host = self.host.unwrap_or("of the process");
                let reason = format!("host {host} does not answer: {error:#}");
                Down::new(self.launcher_ended(), reason)
            }
        }
    }

    /// The last error of the process about a server. One that runs has others that do not concern
    /// the server.
    fn complaint(&self, server: u16, seen: &Seen) -> Option<Complaint> {
        let log = ServerProcess::log(&self.directory, self.process);
        let runs = seen.fate == Fate::Runs;
        Complaint::last(&log, seen.started, |it| {
            it.server == Some(server) || (it.server.is_none() && !runs)
        })
    }

    /// When the launcher that held the process wrote its last line, if it has ended.
    fn launcher_ended(&self) -> Option<Timestamp> {
        let mut records = records::list(&self.directory).into_iter();
        let launcher = records.find(|record| record.role == Role::Launcher(self.process))?;
        let log = ServerProcess::log(&self.directory, self.process);
        let metadata = fs::metadata(log).ok()?;
        let written = metadata.modified().ok()?.try_into().ok()?;
        (!launcher.is_alive() && launcher.started < written && metadata.len() > 0)
            .then_some(written)
    }
}
