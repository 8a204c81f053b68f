//! Buffered writes of a client that died.

use super::{History, Record};
use crate::model::Operation;
use futago_base::{FileId, Time};

/// The history for the living clients. A write of a client that died may or may not have happened,
/// unless the client has sent it before; its reads of own writes are unknown.
pub fn without_dirty_data(history: &History) -> History {
    let died = |client| {
        let mut records = history.iter();
        records.any(|other| other.client == client && other.operation == Operation::Expire)
    };
    let open = |record: &Record| {
        let Some(file) = file_of(&record.operation) else {
            return false;
        };
        let is_dirty = || match record.operation {
            Operation::Read { .. } => has_written(history, record, file),
            _ => true,
        };
        died(record.client) && !is_sent_after(history, record, file) && is_dirty()
    };
    let seen = |record: &Record| Record {
        returned: record.returned.clone().filter(|_| !open(record)),
        ..record.clone()
    };
    history.iter().map(seen).collect()
}

/// The file whose dirty data an operation writes or may read.
const fn file_of(operation: &Operation) -> Option<FileId> {
    match operation {
        Operation::Write { id, .. } | Operation::Append { id, .. } | Operation::Read { id, .. } => {
            Some(*id)
        }
        _ => None,
    }
}

/// Whether the client has begun to write to the file before.
fn has_written(history: &History, record: &Record, file: FileId) -> bool {
    let writes = |other: &Record| {
        let is_before = other.client == record.client && other.called <= record.called;
        let writes = match other.operation {
            Operation::Write { id, .. } | Operation::Append { id, .. } => id == file,
            _ => false,
        };
        is_before && writes
    };
    history.iter().any(writes)
}

/// Whether the client has closed the file since.
fn is_sent_after(history: &History, record: &Record, file: FileId) -> bool {
    let closes = |other: &Record| {
        let is_done = other.end() < Time(u64::MAX) && other.called >= record.end();
        is_done && other.client == record.client && other.operation == Operation::Close(file)
    };
    history.iter().any(closes)
}
