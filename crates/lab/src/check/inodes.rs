//! Inodes: each is at its home and has as many names as it counts.

use super::{
    Fault, Finding, Records,
    records::{MisplacedInode, Node},
    tree,
};
use futago_base::{FileId, Kind};
use futago_wire::inspection::{Inspected, InspectedKey, Repair};

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    if records.root_is_missing {
        let home = records.map.home(FileId::ROOT);
        findings.push(Finding::at(home, Fault::NoRoot, vec![Repair::MakeRoot]));
    }
    for misplaced in &records.misplaced_inodes {
        findings.push(misplacement(records, misplaced));
    }
    for (&id, node) in &records.nodes {
        if id != FileId::ROOT {
            check_names(records, id, node, findings);
        }
    }
}

/// Moves a misplaced inode to its home, unless there is another inode.
fn misplacement(records: &Records<'_>, misplaced: &MisplacedInode<'_>) -> Finding {
    let id = misplaced.id;
    let record = || Inspected::Inode {
        id,
        inode: Box::new(misplaced.inode.clone()),
        open: false,
    };
    let moved = misplaced
        .only
        .then(|| (records.map.home(id), Repair::Put(record())));
    let remove = Repair::Remove(InspectedKey::Inode(id));
    Finding {
        fault: Fault::MisplacedInode(id),
        server: misplaced.server,
        repairs: moved
            .into_iter()
            .chain([(misplaced.server, remove)])
            .collect(),
    }
}

fn check_names(records: &Records<'_>, id: FileId, node: &Node, findings: &mut Vec<Finding>) {
    let names = records.names_of(id).count() as u32;
    if names > 0 && node.kind != Kind::Directory && node.links != names {
        let fault = Fault::WrongLinks(id, node.links, names);
        let repairs = vec![Repair::SetLinks(id, names)];
        findings.push(Finding::at(node.server, fault, repairs));
    }
    if names > 0 || (node.open && node.links == 0) {
        return;
    }
    let orphaned = node.links == 0 && node.kind != Kind::Directory;
    let finding = if orphaned {
        let fault = Fault::Orphan(id, node.kind);
        Finding::at(node.server, fault, vec![Repair::RemoveFile(id)])
    } else {
        Finding {
            fault: Fault::LostInode(id, node.kind),
            server: node.server,
            repairs: tree::reconnect(records, id, node),
        }
    };
    findings.push(finding);
}
