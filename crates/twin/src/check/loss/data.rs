//! Files show bytes that were written to them.

use super::{Loss, Marks};
use crate::check::Record;
use crate::model::{Content, Operation, Outcome};
use futago_base::FileId;

/// The first read that saw another file's bytes, or a hole where there is none.
pub(super) fn mistake(loss: &Loss<'_>, marks: &mut Marks) -> Option<String> {
    let mut reads = loss.history.iter().filter_map(|record| {
        let Operation::Read { id, offset, .. } = record.operation else {
            return None;
        };
        match &record.returned {
            Some((_, Ok(Outcome::Bytes(bytes)))) => Some((record, id, offset, bytes)),
            _ => None,
        }
    });
    reads.find_map(|(record, id, offset, bytes)| {
        let seen = Content::of_bytes(offset, bytes);
        let is_foreign = seen.runs().iter().any(|run| !marks.may_hold(id, run.tag));
        if is_foreign {
            return Some(format!("bytes of another file: {record:?}\n"));
        }
        let hole = hole(loss, record, id, &seen)?;
        Some(format!("a hole at {hole}: {record:?}\n"))
    })
}

/// Where a read saw a hole in what had been written before and was never taken away.
fn hole(loss: &Loss<'_>, read: &Record, id: FileId, seen: &Content) -> Option<u64> {
    if !loss.sends_at_once || loss.history.iter().any(|record| takes_away(record, id)) {
        return None;
    }
    let Operation::Read { offset, length, .. } = read.operation else {
        return None;
    };
    let written = written_before(loss, read, id);
    let mut missing = written.within(offset, offset + u64::from(length));
    for run in seen.runs() {
        missing.clear(run.from, run.to);
    }
    missing.runs().first().map(|run| run.from)
}

fn takes_away(record: &Record, file: FileId) -> bool {
    let operation = &record.operation;
    matches!(
        operation,
        Operation::Truncate { .. } | Operation::Allocate { .. }
    ) && operation.file() == Some(file)
}

/// The content that a file must have when an operation begins.
fn written_before(loss: &Loss<'_>, record: &Record, file: FileId) -> Content {
    let node = loss
        .before
        .find(file)
        .and_then(|node| loss.before.node(node));
    let held = node.and_then(|node| node.file());
    let mut content = held.map(|held| held.visible_data()).unwrap_or_default();
    let earlier = loss
        .history
        .iter()
        .filter(|other| other.end() < record.called);
    for other in earlier.filter(|other| other.operation.file() == Some(file)) {
        let observed = other.returned.as_ref().map(|(_, observed)| observed);
        let (offset, length, tag) = match (&other.operation, observed) {
            (
                Operation::Write {
                    offset,
                    length,
                    tag,
                    ..
                },
                Some(Ok(_)),
            ) => (*offset, *length, *tag),
            (Operation::Append { length, tag, .. }, Some(Ok(Outcome::Number(offset)))) => {
                (*offset, *length, *tag)
            }
            _ => continue,
        };
        content.write(offset, offset + u64::from(length), tag);
    }
    content
}
