//! The tree: every directory has one name, records its parent, and is reached from the root.

use super::{
    Fault, Finding, Records,
    records::{NamedEntry, Node, put_entry},
};
use futago_base::{FileId, Kind, Name, ServerId, record::Entry};
use futago_wire::inspection::Repair;
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

/// The parent of a directory: the recorded one if it has several names.
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
    let chosen = records
        .names_of(id)
        .min_by_key(|name| Some(name.directory) != node.parent)?;
    report_second_names(id, Some(chosen), records, findings);
    Some(chosen.directory)
}

fn report_second_names(
    id: FileId,
    chosen: Option<&NamedEntry<'_>>,
    records: &Records<'_>,
    findings: &mut Vec<Finding>,
) {
    for name in records.names_of(id) {
        if chosen.is_some_and(|chosen| std::ptr::eq(chosen, name)) {
            continue;
        }
        findings.push(Finding {
            fault: Fault::SecondName(name.directory, name.name.clone(), id),
            server: name.server,
            repairs: name.remove_name(),
        });
    }
}

fn check_parent(id: FileId, node: &Node, parent: FileId, findings: &mut Vec<Finding>) {
    if node.parent != Some(parent) {
        let fault = Fault::WrongParent(id, node.parent, parent);
        let repairs = vec![Repair::SetParent(id, parent)];
        findings.push(Finding::at(node.server, fault, repairs));
    }
}

/// Reports one directory of every cycle. Moving it below the root breaks the cycle.
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
        if !settled.contains(&at)
            && parents.contains_key(&at)
            && let Some(node) = records.nodes.get(&at)
        {
            findings.push(open_ring(records, at, node));
        }
        settled.append(&mut walked);
    }
}

fn open_ring(records: &Records<'_>, id: FileId, node: &Node) -> Finding {
    let names = records.names_of(id).flat_map(NamedEntry::remove_name);
    Finding {
        fault: Fault::Loop(id),
        server: node.server,
        repairs: names.chain(reconnect(records, id, node)).collect(),
    }
}

/// Gives a node without names a new name in the root directory: `lost+found.` and its id, and a
/// number if that name is taken.
pub(super) fn reconnect(records: &Records<'_>, id: FileId, node: &Node) -> Vec<(ServerId, Repair)> {
    let root = FileId::ROOT;
    let Some(name) = lost_names(id).find(|name| !records.is_taken(root, name)) else {
        return Vec::new();
    };
    let Some((server, start)) = records.location_of(root, name.hash()) else {
        return Vec::new();
    };
    let kind = node.kind;
    let settle = if kind == Kind::Directory {
        Repair::SetParent(id, root)
    } else {
        Repair::SetLinks(id, 1)
    };
    let mut repairs = put_entry(server, root, start, name, Entry { id, kind }).to_vec();
    repairs.push((node.server, settle));
    repairs
}

/// Names for a node without names, the preferred one first.
fn lost_names(id: FileId) -> impl Iterator<Item = Name> {
    let first = format!("lost+found.{:016x}", id.0);
    let others = (1_u64..).map({
        let first = first.clone();
        move |number| format!("{first}.{number}")
    });
    std::iter::once(first).chain(others).flat_map(Name::new)
}
