//! Chunks: each belongs to a file that reaches that far, and its data is served.

use super::{
    Fault, Finding, Records, admissions,
    records::{Node, StoredChunk},
};
use futago_base::Kind;
use futago_wire::inspection::{InspectedKey, Repair};

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    for stored in &records.chunks {
        if let Some((fault, repairs)) = fault_of(records, stored) {
            findings.push(Finding::at(stored.server, fault, repairs));
        }
    }
}

/// Data beyond the end of an open file is no fault. A write under way puts it there before the size
/// grows. If the size does not grow, the last close removes the data.
fn fault_of(records: &Records<'_>, stored: &StoredChunk) -> Option<(Fault, Vec<Repair>)> {
    let chunk = stored.chunk;
    let remove = || vec![Repair::Remove(InspectedKey::Chunk(chunk))];
    let file = records
        .nodes
        .get(&chunk.file)
        .filter(|node| node.kind == Kind::File);
    let Some(file) = file else {
        return Some((Fault::ChunkWithoutFile(chunk), remove()));
    };
    if records.map.chunk_server(chunk) != stored.server {
        return Some((Fault::MisplacedChunk(chunk), remove()));
    }
    let start = start_of(stored, file);
    if stored.end > 0 && start >= file.size && !file.open {
        return Some((Fault::ChunkBeyondEnd(chunk), remove()));
    }
    unserved(records, stored, file)
}

const fn start_of(stored: &StoredChunk, file: &Node) -> u64 {
    let index = stored.chunk.index;
    index.saturating_mul(file.chunk_bytes as u64)
}

/// A server serves data only of a file that its home has admitted there, and only up to the
/// truncations that it has missed. No client asks beyond the reach of a file.
fn unserved(
    records: &Records<'_>,
    stored: &StoredChunk,
    file: &Node,
) -> Option<(Fault, Vec<Repair>)> {
    let (chunk, start) = (stored.chunk, start_of(stored, file));
    if chunk.index == 0 || stored.end == 0 {
        return None;
    }
    let admission = records.admissions.get(&(chunk.file, stored.server));
    let heard = match admission {
        _ if records.map.home(chunk.file) == stored.server => Some(file.truncations.latest),
        admission => admission.copied(),
    };
    let fault = Fault::UnservedChunk(chunk, heard);
    if start >= file.reach {
        let remove = Repair::Remove(InspectedKey::Chunk(chunk));
        return Some((fault, vec![remove]));
    }
    let Some(heard) = heard else {
        return Some((fault, vec![admissions::admit(chunk.file, file)]));
    };
    let limit = file.truncations.limit_since(heard);
    let is_cut = limit.is_some_and(|limit| start + u64::from(stored.end) > limit);
    (is_cut && file.cuts_pending == 0)
        .then(|| (fault, admissions::apply_missed(chunk.file, file, heard)))
}
