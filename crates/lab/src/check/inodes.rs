//! Inodes: whether they are at home and have as many names as they count.

use super::{Fault, Finding, Records, records::Node, tree};
use futago_base::{FileId, Kind};
use futago_wire::step::Repair;

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    if !records.nodes.contains_key(&FileId::ROOT) {
        findings.push(Finding {
            fault: Fault::NoRoot,
            server: records.map.home(FileId::ROOT),
            repairs: Vec::new(),
        });
    }
    for (id, node) in &records.misplaced_nodes {
        findings.push(Finding {
            fault: Fault::MisplacedInode(*id),
            server: node.server,
            repairs: vec![(node.server, Repair::RemoveInode(*id))],
        });
    }
    for (&id, node) in &records.nodes {
        if id != FileId::ROOT {
            check_names(records, id, node, findings);
        }
    }
}

fn check_names(records: &Records<'_>, id: FileId, node: &Node, findings: &mut Vec<Finding>) {
    let names = records.names_of(id).count() as u32;
    if names > 0 && node.kind != Kind::Directory && node.links != names {
        findings.push(Finding {
            fault: Fault::WrongLinks(id, node.links, names),
            server: node.server,
            repairs: vec![(node.server, Repair::SetLinks(id, names))],
        });
    }
    if names > 0 || (node.open && node.links == 0) {
        return;
    }
    let orphaned = node.links == 0 && node.kind != Kind::Directory;
    let finding = if orphaned {
        Finding {
            fault: Fault::Orphan(id, node.kind),
            server: node.server,
            repairs: vec![(node.server, Repair::RemoveInode(id))],
        }
    } else {
        Finding {
            fault: Fault::LostInode(id, node.kind),
            server: node.server,
            repairs: tree::reconnect(records, id, node),
        }
    };
    findings.push(finding);
}
