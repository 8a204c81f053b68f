//! A check of the file system finds what the loss explains.

use super::{Loss, Spot, changed_names, entries, lost_entries, seen_names};
use crate::check::Record;
use futago_base::{FileId, Key, Name, Value};
use futago_lab::check::{Fault, Finding, Listing, Records, check};
use futago_store::MemoryStore;
use futago_wire::{PeerChange, Step, codec};
use std::collections::BTreeSet;

/// The findings of a check of all servers' records that the loss does not explain.
pub(super) fn unexplained(loss: &Loss<'_>, listings: &[Listing]) -> Vec<String> {
    let findings = check(&Records::new(loss.map, listings));
    let causes = Causes::of(loss, &findings);
    let left = findings.iter().filter(|finding| !causes.explain(finding));
    left.map(|finding| format!("{}: {}", finding.server, finding.fault))
        .collect()
}

/// The findings that the loss explains.
struct Causes<'a> {
    loss: &'a Loss<'a>,
    /// The nodes whose names, or whose directories, are lost.
    unnamed: BTreeSet<FileId>,
    /// The nodes of operations that were under way while the server was down.
    busy: BTreeSet<FileId>,
    busy_names: BTreeSet<Spot>,
}

impl<'a> Causes<'a> {
    fn of(loss: &'a Loss<'a>, findings: &[Finding]) -> Self {
        let under_way: Vec<&Record> = loss
            .history
            .iter()
            .filter(|r| is_under_way(loss, r))
            .collect();
        let names = under_way
            .iter()
            .flat_map(|record| changed_names(&record.operation));
        let busy_names: BTreeSet<Spot> = names.collect();
        let before = entries(loss.before).into_iter();
        let led: Vec<(Spot, FileId)> = before
            .chain(loss.history.iter().flat_map(seen_names))
            .collect();
        let of_lost = led
            .iter()
            .filter(|((directory, _), _)| loss.is_home(*directory));
        let unnamed = of_lost
            .map(|(_, id)| *id)
            .chain(lost_entries(loss.lost).into_values())
            .chain(prepared(loss.lost))
            .chain(stranded(loss, findings));
        let busy = led.iter().filter(|(spot, _)| busy_names.contains(spot));
        let named = under_way.iter().flat_map(|record| files_of(record));
        Self {
            loss,
            unnamed: unnamed.collect(),
            busy: busy.map(|(_, id)| *id).chain(named).collect(),
            busy_names,
        }
    }

    fn explain(&self, finding: &Finding) -> bool {
        let loss = self.loss;
        match &finding.fault {
            Fault::DanglingEntry(directory, name, entry) => {
                loss.is_home(entry.id)
                    || self.busy.contains(&entry.id)
                    || self.busy_names.contains(&(*directory, name.clone()))
            }
            Fault::EntryWithoutBucket(directory, name, _) => {
                loss.is_home(*directory) || was_moving(loss.lost, *directory, name)
            }
            Fault::OverlappingBucket(directory, _) => loss.is_home(*directory),
            Fault::StrayBucket(id, _) => loss.is_home(*id) || self.busy.contains(id),
            Fault::MissingBucket(id, start) => loss.map.bucket_server(*id, *start) == loss.server,
            Fault::LostInode(id, _) | Fault::WrongLinks(id, ..) | Fault::Orphan(id, _) => {
                self.unnamed.contains(id) || self.busy.contains(id)
            }
            Fault::WrongParent(id, ..) | Fault::SecondName(.., id) | Fault::Loop(id) => {
                self.busy.contains(id)
            }
            Fault::ChunkWithoutFile(chunk) => loss.is_home(chunk.file),
            Fault::StrayAdmission(id) => loss.is_home(*id),
            _ => false,
        }
    }
}

/// Whether the server was giving the bucket of a name to another one when it stopped. The entries
/// of the bucket may have arrived without its header, which is sent last.
fn was_moving(lost: &[MemoryStore], directory: FileId, name: &Name) -> bool {
    let mut records = lost.iter().flat_map(MemoryStore::records);
    records.any(|(key, value)| match (key, value) {
        (Key::Outbox(..), Value::Message(message)) => {
            gives_bucket_of(&message.body, directory, name)
        }
        _ => false,
    })
}

fn gives_bucket_of(body: &[u8], of: FileId, name: &Name) -> bool {
    match codec::decode(body) {
        Ok(PeerChange::Transfer {
            directory,
            bucket,
            header: Some(header),
            ..
        }) => directory == of && bucket.covers(header.level, name.hash()),
        _ => false,
    }
}

/// The nodes of entries that the server was about to make when it stopped. No reply contains the id
/// of a whiteout.
fn prepared(lost: &[MemoryStore]) -> impl Iterator<Item = FileId> {
    let records = lost.iter().flat_map(MemoryStore::records);
    let steps = records.filter_map(|(_, value)| match value {
        Value::Participant(participant) => {
            codec::decode::<Vec<(Step, Option<FileId>)>>(&participant.steps).ok()
        }
        _ => None,
    });
    steps.flatten().filter_map(|(step, _)| match step {
        Step::PutEntry { entry, .. } => Some(entry.id),
        _ => None,
    })
}

/// The nodes of entries that other servers still have although the directories are lost. A client
/// need not have seen them, because a rename does not return the node that it moves.
fn stranded(loss: &Loss<'_>, findings: &[Finding]) -> impl Iterator<Item = FileId> {
    findings.iter().filter_map(|finding| match &finding.fault {
        Fault::EntryWithoutBucket(directory, _, entry) => {
            loss.is_home(*directory).then_some(entry.id)
        }
        _ => None,
    })
}

fn is_under_way(loss: &Loss<'_>, record: &Record) -> bool {
    let (from, to) = loss.away;
    record.called <= to && record.end() >= from
}

/// The files that an operation names, or has made.
fn files_of(record: &Record) -> Vec<FileId> {
    let named = record.operation.file();
    named.into_iter().chain(super::made(record)).collect()
}
