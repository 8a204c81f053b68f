//! The order of the repairs.

use super::Finding;
use futago_base::ServerId;
use futago_wire::inspection::{Inspected, InspectedKey, Repair};

/// The repairs of all findings, each once. The order ensures that no repair undoes another, and
/// that no node is without a name in between. Inodes and buckets move first, then names are added,
/// then faulty records are removed, then nodes are corrected. At the end all changed buckets are
/// counted again.
pub fn repair_plan(findings: &[Finding]) -> Vec<(ServerId, Repair)> {
    let mut plan: Vec<(ServerId, Repair)> = findings
        .iter()
        .flat_map(|finding| finding.repairs.iter().cloned())
        .collect();
    plan.sort_by_cached_key(|(server, repair)| (rank(repair), *server, format!("{repair:?}")));
    plan.dedup();
    plan
}

const fn rank(repair: &Repair) -> u8 {
    match repair {
        Repair::MakeRoot | Repair::Put(Inspected::Inode { .. } | Inspected::Chunk { .. }) => 0,
        Repair::Remove(InspectedKey::Header(..)) => 1,
        Repair::Put(Inspected::Header { .. }) => 2,
        Repair::Put(Inspected::Entry { .. }) => 3,
        Repair::Remove(_) | Repair::RemoveFile(_) | Repair::Cut { .. } => 4,
        Repair::SetLinks(..) | Repair::SetParent(..) | Repair::Put(Inspected::Admitted { .. }) => 5,
        Repair::RecountBucket(..) => 6,
    }
}
