//! Admissions: a server that takes chunks of a file must be one that the home notifies of
//! truncations, and must have applied the latest.

use super::{Fault, Finding, Records, records::Node};
use futago_base::{ChunkId, FileId, Kind, ServerId};
use futago_wire::inspection::{Inspected, InspectedKey, Repair};

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    for (&(file, server), &heard) in &records.admissions {
        findings.extend(check_admission(records, file, server, heard));
    }
}

/// A server may learn of a truncation later while confirmations are missing.
fn check_admission(
    records: &Records<'_>,
    file: FileId,
    server: ServerId,
    heard: u64,
) -> Option<Finding> {
    let node = records.nodes.get(&file);
    let Some(node) = node.filter(|node| has_chunks_at(records, file, node, server)) else {
        let remove = Repair::Remove(InspectedKey::Admitted(file));
        let fault = Fault::StrayAdmission(file);
        return Some(Finding::at(server, fault, vec![remove]));
    };
    let latest = node.truncations.latest;
    (node.cuts_pending == 0 && heard != latest).then(|| {
        let fault = Fault::MissedTruncation(file, heard, latest);
        Finding::at(server, fault, apply_missed(file, node, heard))
    })
}

/// Whether a server is one that the home of a file notifies of the file.
fn has_chunks_at(records: &Records<'_>, file: FileId, node: &Node, server: ServerId) -> bool {
    let map = records.map;
    if node.kind != Kind::File || node.chunk_bytes == 0 || map.home(file) == server {
        return false;
    }
    let end = node.reach.div_ceil(u64::from(node.chunk_bytes));
    let round = 1 + map.partition_count() as u64;
    (1..end.min(round)).any(|index| map.chunk_server(ChunkId { file, index }) == server)
}

/// The repairs that a server with missed truncations makes before it takes a change. No client
/// could read the cut data.
pub(super) fn apply_missed(file: FileId, node: &Node, heard: u64) -> Vec<Repair> {
    let cut = node.truncations.limit_since(heard).map(|size| Repair::Cut {
        file,
        chunk_bytes: node.chunk_bytes,
        size,
    });
    cut.into_iter().chain([admit(file, node)]).collect()
}

/// Admits chunks of a file at a server.
pub(super) const fn admit(file: FileId, node: &Node) -> Repair {
    Repair::Put(Inspected::Admitted {
        file,
        heard: node.truncations.latest,
    })
}
