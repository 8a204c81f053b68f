//! Which parts of an operation take effect by themselves.

use super::{History, Record, Setting};
use crate::model::{Operation, Outcome, Slice};
use futago_base::{Errno, Kind};
use std::ops::Range;

/// A part of an operation that takes effect at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The operation.
    pub operation: usize,
    /// The part of the operation.
    pub slice: Slice,
    /// Whether it must have taken effect.
    pub required: bool,
    /// The part that must have taken effect before.
    pub after: Option<usize>,
    /// The part that must not have.
    pub before: Option<usize>,
}

/// Whether an operation looks at a directory over a while instead of at one moment.
pub(super) fn is_watch(record: &Record) -> bool {
    match (&record.operation, &record.returned) {
        (Operation::ReadDirectory { .. }, Some((_, Ok(_)))) => true,
        (Operation::Attributes(_), Some((_, Ok(Outcome::File(state, _))))) => {
            state.attributes.kind == Kind::Directory
        }
        _ => false,
    }
}

/// The parts of all operations but the watches.
pub(super) fn parts(history: &History, setting: Setting) -> Vec<Part> {
    let mut parts = Vec::new();
    for (index, record) in history.iter().enumerate() {
        if is_watch(record) || (is_reading(&record.operation) && record.returned.is_none()) {
            continue;
        }
        let first = parts.len();
        let may_be_repeated = is_write(&record.operation) && may_be_cut(history, record);
        for slice in slices(record, setting) {
            let is_append = matches!(record.operation, Operation::Append { .. });
            let follows = (is_append && !is_passed(record, setting)) || slice == Slice::Links;
            let part = Part {
                operation: index,
                slice,
                required: !is_partial(record)
                    && !matches!(slice, Slice::Grown(_) | Slice::Copied(..))
                    && !may_follow(record, slice, setting),
                after: (follows && parts.len() > first).then_some(first),
                before: None,
            };
            parts.push(part);
            if let (Slice::Chunk(chunk), true) = (slice, may_be_repeated) {
                parts.push(Part {
                    slice: Slice::Early(chunk),
                    required: false,
                    before: Some(first),
                    ..part
                });
            }
        }
        if looks_first(history, record, setting) {
            parts.push(Part {
                operation: index,
                slice: Slice::Looked,
                required: false,
                after: None,
                before: Some(first),
            });
        }
    }
    parts
}

/// Whether a kernel may have decided on a rename by itself. It looks up the two names one after the
/// other, and other clients may have changed the first one meanwhile.
fn looks_first(history: &History, record: &Record, setting: Setting) -> bool {
    let judged = matches!(
        record.returned,
        Some((_, Ok(_) | Err(Errno::EISDIR | Errno::ENOTDIR)))
    );
    let changes = |other: &Record| {
        other.client != record.client
            && matches!(other.operation, Operation::Rename { .. })
            && other.overlaps(record)
    };
    record.client < setting.kernels
        && matches!(record.operation, Operation::Rename { .. })
        && judged
        && history.iter().any(changes)
}

/// Whether it may have been done in part: its client died, or a server was full.
pub(super) fn is_partial(record: &Record) -> bool {
    let spans_chunks = is_write(&record.operation)
        || matches!(
            record.operation,
            Operation::Append { .. } | Operation::CopyRange { .. }
        );
    match &record.returned {
        None => true,
        Some((_, observed)) => spans_chunks && *observed == Err(Errno::ENOSPC),
    }
}

/// Whether a message of the operation to another server may arrive after the operation has
/// returned: it returns after a grace time even if that server cannot be reached.
fn may_follow(record: &Record, slice: Slice, setting: Setting) -> bool {
    slice == Slice::Links && record.end().since(record.called) >= setting.grace
}

/// Whether others may have made a file longer before an append to it was finished: they wait for it
/// for one grace time at most.
fn is_passed(record: &Record, setting: Setting) -> bool {
    matches!(record.operation, Operation::Append { .. })
        && matches!(record.returned, Some((_, Ok(_))))
        && record.end().since(record.called) >= setting.grace
}

const fn is_write(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Write { .. } | Operation::Allocate { .. }
    )
}

/// Whether a file may have been truncated, to a smaller size or to its size, during an operation.
fn may_be_cut(history: &History, record: &Record) -> bool {
    let cuts = |other: &&Record| {
        matches!(
            other.operation,
            Operation::Truncate { .. } | Operation::Close(_) | Operation::Release(_)
        )
    };
    history
        .iter()
        .filter(cuts)
        .any(|other| other.overlaps(record))
}

/// Whether it changes nothing, so that without an answer it did not happen.
pub(super) const fn is_reading(operation: &Operation) -> bool {
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

fn slices(record: &Record, setting: Setting) -> Vec<Slice> {
    use Operation as O;
    let chunk_bytes = setting.chunk_bytes;
    let failed = matches!(record.returned, Some((_, Err(_)))) && !is_partial(record);
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
            let at_home: &[Slice] = match &record.returned {
                // Others wait for it for one grace time at most.
                None => &[Slice::Granted, Slice::Finished],
                Some(_) if is_passed(record, setting) => &[Slice::Finished],
                Some(_) => &[Slice::Home],
            };
            return at_home.iter().copied().chain(chunks).collect();
        }
        O::CopyRange {
            from,
            offset,
            length,
            ..
        } => {
            let pieces = |done| copied_pieces(from, offset, done..length, chunk_bytes);
            return match &record.returned {
                _ if is_partial(record) => pieces(0),
                // A server that got full may have ended it early: of the rest, parts may be done.
                Some((_, Ok(Outcome::Number(copied)))) if setting.limited => {
                    [vec![Slice::Whole], pieces(*copied)].concat()
                }
                _ => vec![Slice::Whole],
            };
        }
        _ => return vec![Slice::Whole],
    };
    let chunks = (offset / chunk_bytes).max(1)..(offset + length).div_ceil(chunk_bytes);
    let chunks = chunks.filter(|_| !failed).map(Slice::Chunk);
    std::iter::once(Slice::Home).chain(chunks).collect()
}

/// The pieces of this part of a copy: each lies within one chunk of either file. A piece first
/// grows the file, and is then copied.
fn copied_pieces(from: u64, offset: u64, part: Range<u64>, chunk_bytes: u64) -> Vec<Slice> {
    let mut slices = Vec::new();
    let mut at = part.start;
    while at < part.end {
        let room = |position: u64| chunk_bytes - position % chunk_bytes;
        let piece = room(from + at).min(room(offset + at)).min(part.end - at);
        slices.extend([Slice::Grown(at + piece), Slice::Copied(at, at + piece)]);
        at += piece;
    }
    slices
}
