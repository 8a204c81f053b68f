//! In which order to mend what a check has found.

use super::Finding;
use futago_base::ServerId;
use futago_wire::step::Repair;

/// The repairs of all findings, each once, in an order in which none undoes another: what is wrong
/// goes away first, then names come back, then nodes are set right, and all buckets that were
/// touched are counted anew at the end.
pub fn repair_plan(findings: &[Finding]) -> Vec<(ServerId, Repair)> {
    let mut plan: Vec<(ServerId, Repair)> = findings
        .iter()
        .flat_map(|finding| &finding.repairs)
        .flat_map(|(server, repair)| with_recount(repair).map(|step| (*server, step)))
        .collect();
    plan.sort_by_cached_key(|(server, repair)| (rank(repair), *server, format!("{repair:?}")));
    plan.dedup();
    plan
}

/// A repair of an entry leaves the counts of its bucket to be checked.
fn with_recount(repair: &Repair) -> impl Iterator<Item = Repair> {
    let recount = match repair {
        Repair::RemoveEntry(spot) | Repair::PutEntry(spot, _) => {
            Some(Repair::RecountBucket(spot.directory, spot.bucket))
        }
        _ => None,
    };
    std::iter::once(repair.clone()).chain(recount)
}

const fn rank(repair: &Repair) -> u8 {
    match repair {
        Repair::RemoveBucket(..) | Repair::RemoveEntry(_) => 0,
        Repair::PutEntry(..) => 1,
        Repair::RemoveInode(_) | Repair::RemoveChunks(_) => 2,
        Repair::SetLinks(..) | Repair::SetParent(..) | Repair::Plant(_) => 3,
        Repair::RecountBucket(..) => 4,
    }
}
