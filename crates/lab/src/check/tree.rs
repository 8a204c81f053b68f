//! The tree: every directory has one name, knows the directory that it lies in, and hangs below the
//! root.

use super::{
    Fault, Finding, Records,
    records::{NamedEntry, Node},
};
use futago_base::{BucketStart, FileId, Kind, Name, ServerId, record::Entry};
use futago_wire::{Spot, step::Repair};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    let mut parents = BTreeMap::new();
    for (&id, node) in &records.nodes {
        if node.kind != Kind::Directory {
            continue;
        }
        if let Some(parent) = check_names(records, id, node, findings) {
            parents.insert(id, parent);
            check_parent(id, node, parent, findings);
        }
    }
    check_loops(records, &parents, findings);
}

/// The directory that a directory lies in: the one that it believes in if several names lead to it.
fn check_names(
    records: &Records<'_>,
    id: FileId,
    node: &Node,
    findings: &mut Vec<Finding>,
) -> Option<FileId> {
    if id == FileId::ROOT {
        report_second_names(id, None, records, findings);
        return Some(id);
    }
    let kept = records
        .names_of(id)
        .min_by_key(|name| Some(name.directory) != node.parent)?;
    report_second_names(id, Some(kept), records, findings);
    Some(kept.directory)
}

fn report_second_names(
    id: FileId,
    kept: Option<&NamedEntry<'_>>,
    records: &Records<'_>,
    findings: &mut Vec<Finding>,
) {
    for name in records.names_of(id) {
        if kept.is_some_and(|kept| std::ptr::eq(kept, name)) {
            continue;
        }
        findings.push(Finding {
            fault: Fault::SecondName(name.directory, name.name.clone(), id),
            server: name.server,
            repairs: vec![(name.server, Repair::RemoveEntry(spot(name)))],
        });
    }
}

fn spot(name: &NamedEntry<'_>) -> Spot {
    Spot {
        directory: name.directory,
        bucket: name.bucket.unwrap_or(BucketStart(0)),
        name: name.name.clone(),
    }
}

fn check_parent(id: FileId, node: &Node, parent: FileId, findings: &mut Vec<Finding>) {
    if node.parent != Some(parent) {
        findings.push(Finding {
            fault: Fault::WrongParent(id, node.parent, parent),
            server: node.server,
            repairs: vec![(node.server, Repair::SetParent(id, parent))],
        });
    }
}

/// Reports one directory of every ring of directories that lie in each other; cutting it out of the
/// ring and hanging it below the root opens the ring.
fn check_loops(
    records: &Records<'_>,
    parents: &BTreeMap<FileId, FileId>,
    findings: &mut Vec<Finding>,
) {
    let mut settled = BTreeSet::from([FileId::ROOT]);
    for &start in parents.keys() {
        let mut walked = BTreeSet::new();
        let mut at = start;
        while !settled.contains(&at) && walked.insert(at) {
            match parents.get(&at) {
                Some(&parent) => at = parent,
                None => break,
            }
        }
        if !settled.contains(&at) && parents.contains_key(&at) {
            findings.push(open_ring(records, at));
        }
        settled.append(&mut walked);
    }
}

fn open_ring(records: &Records<'_>, id: FileId) -> Finding {
    let mut repairs: Vec<(ServerId, Repair)> = records
        .names_of(id)
        .map(|name| (name.server, Repair::RemoveEntry(spot(name))))
        .collect();
    let node = records.nodes.get(&id);
    if let Some(node) = node {
        repairs.extend(reconnect(records, id, node));
    }
    Finding {
        fault: Fault::Loop(id),
        server: node.map_or(records.map.home(id), |node| node.server),
        repairs,
    }
}

/// Gives a node that has lost its name a new one in the root directory: `lost+found.` and its
/// identity. Empty if the root directory is damaged itself.
pub(super) fn reconnect(records: &Records<'_>, id: FileId, node: &Node) -> Vec<(ServerId, Repair)> {
    let Ok(name) = Name::new(format!("lost+found.{:016x}", id.0)) else {
        return Vec::new();
    };
    let Some((bucket, server)) = records.bucket_for(FileId::ROOT, name.hash()) else {
        return Vec::new();
    };
    let spot = Spot {
        directory: FileId::ROOT,
        bucket,
        name,
    };
    let entry = Entry {
        id,
        kind: node.kind,
    };
    let place = if node.kind == Kind::Directory {
        Repair::SetParent(id, FileId::ROOT)
    } else {
        Repair::SetLinks(id, 1)
    };
    vec![
        (server, Repair::PutEntry(spot, entry)),
        (node.server, place),
    ]
}
