//! Entries: each lies in a bucket and refers to an existing node of the recorded kind.

use super::{Fault, Finding, Records, records::NamedEntry};
use futago_base::record::Entry;

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    for entry in &records.entries {
        findings.extend(check_entry(records, entry));
    }
}

/// The fault of an entry, if any. An entry outside of all buckets moves to the bucket of its hash,
/// unless another entry has its name there.
fn check_entry(records: &Records<'_>, entry: &NamedEntry<'_>) -> Option<Finding> {
    let (directory, name, target) = (entry.directory, entry.name.clone(), entry.entry);
    let node = records.nodes.get(&target.id);
    let truth = node.map(|node| Entry {
        id: target.id,
        kind: node.kind,
    });
    let (fault, repairs) = match truth {
        _ if !entry.is_in_bucket() => {
            let put = truth.map(|truth| entry.put(truth)).unwrap_or_default();
            let repairs = [put, entry.remove_here()].concat();
            (Fault::EntryWithoutBucket(directory, name, target), repairs)
        }
        None => {
            let fault = Fault::DanglingEntry(directory, name, target);
            (fault, entry.remove_here())
        }
        Some(truth) if truth != target => {
            let fault = Fault::WrongKind(directory, name, target, truth.kind);
            (fault, entry.put(truth))
        }
        Some(_) => return None,
    };
    Some(Finding {
        fault,
        server: entry.server,
        repairs,
    })
}
