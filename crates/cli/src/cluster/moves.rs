//! Which servers move to which process when a cluster grows or shrinks.

use super::plan::reachable_name;
use anyhow::{Context, ensure};
use futago_node::{Cluster, ServerEntry};
use futago_transport::Address;
use serde::Serialize;
use std::collections::BTreeMap;

/// A server that changes its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Its number.
    pub server: u16,
    /// The process that it leaves.
    pub from: u32,
    /// The process that serves it from now on.
    pub to: u32,
}

/// The processes of a cluster, and what each of them serves.
#[derive(Debug)]
pub struct Processes(BTreeMap<u32, Process>);

#[derive(Debug, Default)]
struct Process {
    host: Option<String>,
    servers: Vec<u16>,
}

impl Processes {
    /// Those of a cluster.
    pub fn of(cluster: &Cluster) -> Self {
        let mut processes: BTreeMap<u32, Process> = BTreeMap::new();
        for (server, entry) in (0..).zip(&cluster.servers) {
            let process = processes.entry(entry.process).or_default();
            process.host.clone_from(&entry.host);
            process.servers.push(server);
        }
        Self(processes)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Their numbers.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// The host of a process; none for that of the cluster file.
    pub fn host(&self, process: u32) -> Option<&String> {
        self.0.get(&process)?.host.as_ref()
    }

    /// Their hosts, those with the fewest processes first.
    pub fn hosts(&self) -> Vec<Option<String>> {
        let mut counts: BTreeMap<&Option<String>, usize> = BTreeMap::new();
        for process in self.0.values() {
            *counts.entry(&process.host).or_default() += 1;
        }
        let mut hosts: Vec<_> = counts.into_iter().collect();
        hosts.sort_by_key(|(_, count)| *count);
        hosts.into_iter().map(|(host, _)| host.clone()).collect()
    }

    /// Adds a process without servers, and returns its number.
    pub fn add(&mut self, host: Option<String>) -> u32 {
        let number = self.0.keys().last().map_or(0, |last| last + 1);
        let process = Process {
            host,
            servers: Vec::new(),
        };
        self.0.insert(number, process);
        number
    }

    /// Moves servers until no process has two more than another.
    pub fn balance(&mut self) -> Vec<Move> {
        let mut moves = Vec::new();
        while let Some((from, to)) = self.unequal() {
            let server = self
                .0
                .get_mut(&from)
                .and_then(|process| process.servers.pop());
            moves.extend(server.map(|server| self.give(server, from, to)));
        }
        moves
    }

    /// Moves all servers of a process to the others, and removes it.
    ///
    /// # Errors
    /// There are no others.
    pub fn clear(&mut self, process: u32) -> anyhow::Result<Vec<Move>> {
        let cleared = self.0.remove(&process).unwrap_or_default();
        let mut moves = Vec::new();
        for server in cleared.servers {
            let least = self
                .0
                .iter()
                .min_by_key(|(_, process)| process.servers.len());
            let (&to, _) = least
                .context("this is the last process of the cluster; futago down ends the cluster")?;
            moves.push(self.give(server, process, to));
        }
        Ok(moves)
    }

    /// Two processes with unequal shares: that with the most servers, and that with the fewest.
    fn unequal(&self) -> Option<(u32, u32)> {
        let load = |(number, process): (&u32, &Process)| (process.servers.len(), *number);
        let (most, from) = self.0.iter().map(load).max()?;
        let (least, to) = self.0.iter().map(load).min()?;
        (most > least + 1).then_some((from, to))
    }

    fn give(&mut self, server: u16, from: u32, to: u32) -> Move {
        if let Some(process) = self.0.get_mut(&to) {
            process.servers.push(server);
        }
        Move { server, from, to }
    }

    /// The entries of a cluster file after moves. A server that changes its host gets a port there,
    /// from `first_port` on; others have their addresses as before.
    ///
    /// # Errors
    /// A host has no port left.
    pub fn entries(
        &self,
        cluster: &Cluster,
        moves: &[Move],
        first_port: u16,
    ) -> anyhow::Result<Vec<ServerEntry>> {
        let mut entries = cluster.servers.clone();
        for moved in moves {
            let host = self.host(moved.to).cloned();
            let at = usize::from(moved.server);
            if let Some(host) = host.as_ref().filter(|_| host != entries[at].host) {
                entries[at].address = free_address(&entries, host, first_port)?;
            }
            entries[at].host = host;
            entries[at].process = moved.to;
        }
        Ok(entries)
    }
}

/// Moves, for people.
pub fn text(moves: &[Move]) -> String {
    let line = |moved: &Move| {
        let Move { server, from, to } = moved;
        format!("server {server}: process {from} to process {to}\n")
    };
    moves.iter().map(line).collect()
}

/// An address on a host after those of its servers.
fn free_address(
    entries: &[ServerEntry],
    host: &String,
    first_port: u16,
) -> anyhow::Result<Address> {
    let of_host = entries
        .iter()
        .filter(|entry| entry.host.as_ref() == Some(host));
    let last = of_host.filter_map(|entry| port(&entry.address)).max();
    let port = last.map_or(Some(first_port), |last| last.checked_add(1));
    ensure!(port.is_some(), "{host} has no port left");
    let port = port.unwrap_or(first_port);
    Ok(Address::Tcp(format!("{}:{port}", reachable_name(host))))
}

fn port(address: &Address) -> Option<u16> {
    match address {
        Address::Tcp(host_and_port) => host_and_port.rsplit_once(':')?.1.parse().ok(),
        Address::Unix(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(processes: &[u32], host: impl Fn(u32) -> Option<String>) -> Cluster {
        let entry = |(number, &process): (usize, &u32)| ServerEntry {
            address: Address::Tcp(format!("n:{}", 7000 + number)),
            host: host(process),
            process,
        };
        let entries = processes.iter().enumerate().map(entry).collect();
        Cluster::new("test", entries).unwrap()
    }

    fn shares(entries: &[ServerEntry]) -> Vec<usize> {
        let mut shares = BTreeMap::new();
        for entry in entries {
            *shares.entry(entry.process).or_default() += 1;
        }
        shares.into_values().collect()
    }

    #[test]
    fn a_larger_cluster_has_equal_shares_and_moves_no_more_than_that_takes() {
        let cluster = cluster(&[0, 0, 0, 0, 1, 1, 1, 1], |_| None);
        let mut processes = Processes::of(&cluster);
        assert_eq!([processes.add(None), processes.add(None)], [2, 3]);
        let moves = processes.balance();
        let entries = processes.entries(&cluster, &moves, 7330).unwrap();
        assert_eq!((moves.len(), shares(&entries)), (4, vec![2, 2, 2, 2]));
        let same = entries.iter().zip(&cluster.servers);
        assert!(
            same.into_iter()
                .all(|(new, old)| new.address == old.address)
        );
    }

    #[test]
    fn a_cleared_process_leaves_equal_shares() {
        let cluster = cluster(&[0, 0, 1, 1, 2, 2], |_| None);
        let mut processes = Processes::of(&cluster);
        let moves = processes.clear(1).unwrap();
        let entries = processes.entries(&cluster, &moves, 7330).unwrap();
        assert_eq!(shares(&entries), [3, 3]);
        assert!(entries.iter().all(|entry| entry.process != 1));
        processes.clear(0).unwrap();
        assert!(processes.clear(2).is_err());
    }

    #[test]
    fn a_server_on_another_host_gets_a_port_there() {
        let cluster = cluster(&[0, 0, 0, 0], |_| Some("n".into()));
        let mut processes = Processes::of(&cluster);
        processes.add(Some("me@m".into()));
        let moves = processes.balance();
        let entries = processes.entries(&cluster, &moves, 7330).unwrap();
        let moved = moves
            .iter()
            .map(|moved| &entries[usize::from(moved.server)]);
        let addresses: Vec<_> = moved.map(|entry| entry.address.to_string()).collect();
        assert_eq!(addresses, ["tcp:m:7330", "tcp:m:7331"]);
    }
}
