//! The checks after a burst: times, sessions, records, and an order of the operations.

use super::Burst;
use super::run::{Failure, FailureKind, GRACE, LEASE, LEASE_TRUST, Run, SESSION_SAFE, failure};
use crate::check::{
    History, Record, UnregisteredOpen, Verdict, audit, backwards, findings, linearize, snapshot,
    without_dirty_data,
};
use crate::cluster::Faults;
use crate::model::{Observed, Outcome, Tree};
use futago_base::{Attributes, Duration, Errno, Kind};
use std::fmt::Write;

impl Run {
    /// Whether only clients that were away have lost their sessions.
    pub(super) fn check_sessions(&self, dead: &[usize], burst: &Burst) -> Result<(), Failure> {
        let clients = &self.world.cluster.clients;
        let lost = dead.iter().find(|&&client| clients[client].has_expired());
        match lost {
            Some(client) if burst.faults.longest_absence() < SESSION_SAFE => {
                let text = format!("client {client} has lost its session\n");
                Err(failure(FailureKind::Error, text))
            }
            _ => Ok(()),
        }
    }

    /// Whether a burst was punctual, no time ran backwards, and an order explains its operations.
    pub(super) fn judge(&mut self, history: &History, burst: &Burst) -> Result<(), Failure> {
        let with_leases = self.leases_max.iter().any(|&most| most > 0);
        let longest = longest_wait(burst, with_leases);
        punctual(history, Duration(longest.0 + self.disk_time.0))?;
        let map = &self.world.cluster.map;
        let are_together = |one: &Attributes, other: &Attributes| {
            let is_file = one.kind != Kind::Directory;
            !self.is_stepped || is_file && map.home(one.id) == map.home(other.id)
        };
        if let Some(text) = backwards(history, are_together) {
            return Err(failure(FailureKind::Time, text));
        }
        let after = self.check_records()?;
        let seen = without_dirty_data(history);
        let verdict = linearize(&seen, &self.tree, Some(&after), self.setting);
        self.tree = after;
        self.checked.histories += 1;
        match verdict {
            Verdict::Explained => Ok(()),
            Verdict::Undecided => {
                self.checked.undecided += 1;
                Ok(())
            }
            Verdict::Unexplained(text) => Err(failure(FailureKind::Order, text)),
        }
    }

    /// The tree of all records, if they fit together.
    pub(super) fn check_records(&self) -> Result<Tree, Failure> {
        let stores = self.world.cluster.stores();
        let map = &self.world.cluster.map;
        let mut damages = self.world.cluster.damages.clone();
        damages.extend(audit(map, &stores));
        damages.extend(findings(map, &stores));
        if !damages.is_empty() {
            return Err(failure(FailureKind::Damage, damages.join("\n") + "\n"));
        }
        let unregistered = self.unregistered_opens();
        Ok(snapshot(
            &stores,
            &self.world.cluster.sessions,
            &unregistered,
        ))
    }

    /// The files that living clients have open under leases. The tree tells whether they exist.
    fn unregistered_opens(&self) -> Vec<UnregisteredOpen> {
        let clients = self.clients.iter().copied();
        let clients = clients.filter(|&client| self.world.cluster.clients[client].is_alive());
        let of_client = |client: usize| {
            let opens = self.world.cluster.clients[client].core.unregistered_opens();
            opens
                .into_iter()
                .map(move |(id, count)| (id, client, count))
        };
        clients.flat_map(of_client).collect()
    }
}

/// Whether nobody waited longer than one grace time beyond what the network cost, and nobody was
/// turned away.
fn punctual(history: &History, limit: Duration) -> Result<(), Failure> {
    let mut records = history.iter();
    records.try_for_each(|record| is_punctual(record, limit))
}

/// The most time that an operation of a burst may take.
fn longest_wait(burst: &Burst, with_leases: bool) -> Duration {
    let absence = burst.longest_absence();
    let quiet = burst.faults == Faults::default() && absence == Duration(0);
    let mut limit = if quiet {
        Duration(GRACE.0 * 3 / 2)
    } else {
        Duration(GRACE.0 * 2 + Duration::from_secs(20).0)
    };
    if with_leases && (burst.death.is_some() || absence > LEASE_TRUST) {
        limit = Duration(limit.0 + LEASE.0);
    }
    Duration(limit.0 + absence.0)
}

fn is_punctual(record: &Record, limit: Duration) -> Result<(), Failure> {
    const ODD: [Errno; 5] = [
        Errno::EIO,
        Errno::EBUSY,
        Errno::ETIMEDOUT,
        Errno::EPROTO,
        Errno::ENOSYS,
    ];
    let Some((at, observed)) = &record.returned else {
        return Ok(());
    };
    let took = at.since(record.called);
    if took > limit {
        let text = format!("took {} ms: {record:?}\n", took.0 / 1_000_000);
        return Err(failure(FailureKind::Slow, text));
    }
    match observed {
        Err(errno) if ODD.contains(errno) => {
            let text = format!("{}: {record:?}\n", errno.name());
            Err(failure(FailureKind::Error, text))
        }
        _ => Ok(()),
    }
}

pub(super) fn describe(history: &History) -> String {
    let mut text = String::from("history:\n");
    for record in history {
        let from = record.called.0 as f64 / 1e6;
        let _ = match &record.returned {
            Some((at, observed)) => {
                let to = at.0 as f64 / 1e6;
                writeln!(
                    text,
                    "  {from:.3}..{to:.3} ms client {}: {:?} -> {}",
                    record.client,
                    record.operation,
                    short(observed)
                )
            }
            None => writeln!(
                text,
                "  {from:.3}.. client {}: {:?} -> died",
                record.client, record.operation
            ),
        };
    }
    text
}

/// An answer without what nobody wants to read.
fn short(observed: &Observed) -> String {
    match observed {
        Ok(Outcome::File(state, new)) => {
            let a = &state.attributes;
            format!(
                "{:?} {} mode {:o} owner {}:{} links {} size {} new {new}",
                a.kind, a.id, a.mode, a.uid, a.gid, a.links, a.size
            )
        }
        Ok(Outcome::Listing(entries)) => {
            let names = entries
                .iter()
                .map(|entry| format!("{}={}", entry.name, entry.entry.id));
            names.collect::<Vec<_>>().join(" ")
        }
        Ok(Outcome::Bytes(bytes)) => {
            format!(
                "{} bytes {:?}",
                bytes.len(),
                crate::model::Content::of_bytes(0, bytes)
            )
        }
        other => format!("{other:?}"),
    }
}
