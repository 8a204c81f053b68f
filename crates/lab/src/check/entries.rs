//! Entries: whether they lie in a bucket and lead to what they say.

use super::{Fault, Finding, Records, records::NamedEntry};
use futago_base::{BucketStart, record::Entry};
use futago_wire::{Spot, step::Repair};

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    for entry in &records.entries {
        let Some((fault, mended)) = fault_of(records, entry) else {
            continue;
        };
        let spot = Spot {
            directory: entry.directory,
            bucket: entry.bucket.unwrap_or(BucketStart(0)),
            name: entry.name.clone(),
        };
        let repair = match mended {
            Some(entry) => Repair::PutEntry(spot, entry),
            None => Repair::RemoveEntry(spot),
        };
        findings.push(Finding {
            fault,
            server: entry.server,
            repairs: vec![(entry.server, repair)],
        });
    }
}

/// What is wrong with an entry, and what it should be instead, if it should be at all.
fn fault_of(records: &Records<'_>, entry: &NamedEntry<'_>) -> Option<(Fault, Option<Entry>)> {
    let (directory, name, target) = (entry.directory, entry.name.clone(), entry.entry);
    if entry.bucket.is_none() {
        return Some((Fault::EntryWithoutBucket(directory, name, target), None));
    }
    let Some(node) = records.nodes.get(&target.id) else {
        return Some((Fault::DanglingEntry(directory, name, target), None));
    };
    let mended = Entry {
        id: target.id,
        kind: node.kind,
    };
    (node.kind != target.kind).then_some((
        Fault::WrongKind(directory, name, target, node.kind),
        Some(mended),
    ))
}
