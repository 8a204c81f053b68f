//! Entries: whether they lie in a bucket and lead to what they say.

use super::{Fault, Finding, Records, records::NamedEntry};
use futago_base::record::Entry;

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    for entry in &records.entries {
        findings.extend(check_entry(records, entry));
    }
}

/// What is wrong with an entry. One that lies in no bucket goes to the one that it belongs to, if
/// nothing else is in its place there.
fn check_entry(records: &Records<'_>, entry: &NamedEntry<'_>) -> Option<Finding> {
    let (directory, name, target) = (entry.directory, entry.name.clone(), entry.entry);
    let node = records.nodes.get(&target.id);
    let truth = node.map(|node| Entry {
        id: target.id,
        kind: node.kind,
    });
    let (fault, repairs) = match truth {
        _ if !entry.is_in_place() => {
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
