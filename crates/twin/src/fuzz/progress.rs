//! The phase of progress: once the faults of a burst have stopped, everything comes to an end.
//!
//! When the network is healed, all servers run and no client is paused, the phase begins. Within
//! its bound, every request that was under way gets its reply. Transactions, messages between
//! servers, waiting requests, waits for locks and restorations end. Clients that died or lost their
//! sessions hold no leases, locks or open files any more. The bound is a grace time and
//! [`NETWORK`](super::run::NETWORK), and a lease if clients are gone.

use super::run::{Failure, FailureKind, GRACE, LEASE, Run, failure};
use crate::check::{History, Record, unfinished};
use crate::cluster::{DiskConfig, DiskFaults, Faults};
use crate::model::{Operation, Outcome, Tree};
use futago_base::{Duration, FileId, ServerId, SessionId, Time};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// The begun phase.
pub(super) struct Progress {
    began: Time,
    /// The requests that are under way, by client and number.
    requests: Vec<(usize, u64)>,
}

/// The end of a burst.
pub(super) struct Rest {
    /// The clients that have died in it.
    pub dead: Vec<usize>,
    /// Whether everything has come to an end.
    pub progress: Result<(), Failure>,
}

impl Run {
    /// Heals the network and lets everything come to rest, which is the phase of progress. Clients
    /// that have died are replaced.
    pub fn rest(&mut self, history: &RefCell<History>) -> Rest {
        self.heal();
        let progress = self.begin_progress();
        let span = Duration(GRACE.0 + self.network_time().0);
        self.world.run(span, |_| false);
        let is_dead = |client: &usize| !self.world.cluster.clients[*client].is_alive();
        let dead: Vec<usize> = self.clients.iter().copied().filter(is_dead).collect();
        if !dead.is_empty() {
            self.world.run(LEASE, |_| false);
        }
        let progress = self.end_progress(&progress);
        self.replace_dead(&dead, history);
        Rest { dead, progress }
    }

    /// Ends the faults of a burst, and waits until all servers run.
    pub fn heal(&mut self) {
        self.resume();
        let now = self.world.now;
        let network = &mut self.world.cluster.network;
        network.set_faults(Faults::default(), now);
        self.world.cluster.set_disk_faults(DiskFaults::None);
        for &client in &self.clients {
            self.world.cluster.clients[client].die_after(None);
        }
        let absence = self.all_back.since(now);
        self.world.run(absence, |_| false);
        if self.has_disks {
            self.world.run(DiskConfig::RETURN_MAX, |_| false);
        }
    }

    fn replace_dead(&mut self, dead: &[usize], history: &RefCell<History>) {
        for &client in dead {
            let expiries = self.expiries(client, &history.borrow());
            history.borrow_mut().extend(expiries);
        }
        for place in 0..self.clients.len() {
            if dead.contains(&self.clients[place]) {
                self.world.cluster.disconnect(self.clients[place]);
                self.clients[place] = self.add_client(place);
            }
        }
    }

    /// The ends of a client's session: each home of files that it may hold ends it by itself.
    fn expiries(&self, client: usize, history: &History) -> Vec<Record> {
        let mut homes: BTreeMap<ServerId, Vec<FileId>> = BTreeMap::new();
        for id in held_files(client, history, &self.tree) {
            let home = self.world.cluster.map.home(id);
            homes.entry(home).or_default().push(id);
        }
        let at_homes = homes.into_values().map(Operation::ExpireAt);
        let all = at_homes.chain([Operation::Expire]);
        let record = |operation| Record {
            client,
            operation,
            called: Time(0),
            returned: None,
        };
        all.map(record).collect()
    }

    /// Begins the phase.
    pub fn begin_progress(&self) -> Progress {
        let clients = self.world.cluster.clients.iter().enumerate();
        let requests = clients.flat_map(|(client, node)| {
            let numbers = node.unanswered().into_iter();
            numbers.map(move |number| (client, number))
        });
        Progress {
            began: self.world.now,
            requests: requests.collect(),
        }
    }

    /// Ends the phase: nothing of what was under way may be left.
    pub fn end_progress(&self, progress: &Progress) -> Result<(), Failure> {
        let cluster = &self.world.cluster;
        let clients = cluster.clients.iter();
        let gone = clients.filter(|client| !client.is_alive());
        let gone: BTreeSet<SessionId> = gone.map(|client| client.session()).collect();
        let mut left = unfinished(&cluster.map, &cluster.stores(), &gone);
        left.extend(self.unanswered_of(progress));
        if left.is_empty() {
            return Ok(());
        }
        let seconds = self.world.now.since(progress.began).0 as f64 / 1e9;
        let lines = left.iter();
        let lines = lines.map(|what| format!("no progress: {what} after {seconds:.1} s\n"));
        Err(failure(FailureKind::Stuck, lines.collect::<String>()))
    }

    /// The requests that were under way when the phase began, and still are.
    fn unanswered_of(&self, progress: &Progress) -> Vec<String> {
        let clients = &self.world.cluster.clients;
        let is_left = |(client, number): &&(usize, u64)| {
            clients[*client].is_alive() && clients[*client].unanswered().contains(number)
        };
        let left = progress.requests.iter().filter(is_left);
        left.map(|(client, number)| format!("request {number} of client {client}"))
            .collect()
    }
}

/// The files that a client may have had open or locked.
fn held_files(client: usize, history: &History, tree: &Tree) -> BTreeSet<FileId> {
    let before = tree.nodes.values();
    let before = before.filter(|node| node.file().is_some_and(|file| file.is_held_by(client)));
    let before = before.filter_map(|node| node.id);
    let own = history.iter().filter(|record| record.client == client);
    let taken = own.filter_map(|record| match (&record.operation, &record.returned) {
        (Operation::Open(id) | Operation::SetLock { id, .. }, _) => Some(*id),
        (Operation::Create { .. } | Operation::CreateUnnamed { .. }, Some((_, seen))) => match seen
        {
            Ok(Outcome::File(state, _)) => Some(state.attributes.id),
            _ => None,
        },
        _ => None,
    });
    before.chain(taken).collect()
}
