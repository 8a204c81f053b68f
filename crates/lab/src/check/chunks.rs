//! Chunks: whether they belong to a file that reaches that far.

use super::{Fault, Finding, Records, records::StoredChunk};
use futago_base::Kind;
use futago_wire::check::{InspectedKey, Repair};

pub(super) fn check(records: &Records<'_>, findings: &mut Vec<Finding>) {
    for stored in &records.chunks {
        if let Some(fault) = fault_of(records, stored) {
            let remove = Repair::Remove(InspectedKey::Chunk(stored.chunk));
            findings.push(Finding::at(stored.server, fault, vec![remove]));
        }
    }
}

/// Data beyond the end of an open file is no fault: a write that is under way puts it there before the
/// size is raised, and it goes with the last close if that does not happen.
fn fault_of(records: &Records<'_>, stored: &StoredChunk) -> Option<Fault> {
    let chunk = stored.chunk;
    let file = records
        .nodes
        .get(&chunk.file)
        .filter(|node| node.kind == Kind::File);
    let Some(file) = file else {
        return Some(Fault::ChunkWithoutFile(chunk));
    };
    if records.map.chunk_server(chunk) != stored.server {
        return Some(Fault::MisplacedChunk(chunk));
    }
    let start = chunk.index.saturating_mul(u64::from(file.chunk_bytes));
    let beyond = stored.end > 0 && start >= file.size && !file.open;
    beyond.then_some(Fault::ChunkBeyondEnd(chunk))
}
