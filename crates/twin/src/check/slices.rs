//! Which parts of an operation take effect by themselves.

use super::{History, Record};
use crate::model::{Operation, Slice};
use futago_base::Kind;

/// A part of an operation that takes effect at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The operation.
    pub operation: usize,
    /// What of it.
    pub slice: Slice,
    /// Whether it must have taken effect.
    pub required: bool,
    /// The part that must have taken effect before.
    pub after: Option<usize>,
}

/// Whether an operation looks at a directory over a while instead of at one moment.
pub(super) fn is_watch(record: &Record) -> bool {
    use crate::model::Outcome;
    match (&record.operation, &record.returned) {
        (Operation::ReadDirectory { .. }, Some((_, Ok(_)))) => true,
        (Operation::Attributes(_), Some((_, Ok(Outcome::File(state, _))))) => {
            state.attributes.kind == Kind::Directory
        }
        _ => false,
    }
}

/// The parts of all operations but the watches.
pub(super) fn parts(history: &History, chunk_bytes: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    for (index, record) in history.iter().enumerate() {
        if is_watch(record) || (is_reading(&record.operation) && record.returned.is_none()) {
            continue;
        }
        let first = parts.len();
        for slice in slices(record, chunk_bytes) {
            let follows =
                matches!(record.operation, Operation::Append { .. }) || slice == Slice::Links;
            parts.push(Part {
                operation: index,
                slice,
                required: record.returned.is_some(),
                after: (follows && parts.len() > first).then_some(first),
            });
        }
    }
    parts
}

/// Whether it changes nothing, so that without an answer it did not happen.
const fn is_reading(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Lookup { .. }
            | Operation::Attributes(_)
            | Operation::ReadLink(_)
            | Operation::Read { .. }
            | Operation::SeekData { .. }
            | Operation::SeekHole { .. }
            | Operation::GetXattr { .. }
            | Operation::ListXattrs(_)
            | Operation::TestLock { .. }
            | Operation::ReadDirectory { .. }
            | Operation::Parent(_)
    )
}

fn slices(record: &Record, chunk_bytes: u64) -> Vec<Slice> {
    use Operation as O;
    let failed = matches!(record.returned, Some((_, Err(_))));
    let (offset, length) = match record.operation {
        O::Unlink { .. } if !failed => return vec![Slice::Entry, Slice::Links],
        O::Read { offset, length, .. } | O::Write { offset, length, .. } => {
            (offset, u64::from(length))
        }
        O::Allocate { offset, length, .. } => (offset, length),
        O::Append { length, .. } => {
            let chunks = u64::from(length) / chunk_bytes + 1;
            let chunks = (0..=chunks).map(Slice::Chunk);
            let chunks = chunks.filter(|_| !failed);
            return std::iter::once(Slice::Home).chain(chunks).collect();
        }
        _ => return vec![Slice::Whole],
    };
    let chunks = (offset / chunk_bytes).max(1)..(offset + length).div_ceil(chunk_bytes);
    let chunks = chunks.filter(|_| !failed).map(Slice::Chunk);
    std::iter::once(Slice::Home).chain(chunks).collect()
}
