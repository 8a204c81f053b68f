//! From lines to a trace.

use super::Trace;
use super::program::Programs;
use crate::document::{Node, Origin, Problem};
use futago_base::limits;
use futago_trace::{
    End, Ending, Existing, ExistingKind, Exists, Header, Operation, ROOT, Record, VERSION,
};
use std::{collections::BTreeSet, path::Path, sync::Arc};
use xxhash_rust::xxh3::xxh3_128;

/// The most data in one operation of a trace: 4 GiB. It is in memory at once during a replay.
const MOVED_BYTES_MAX: u64 = 1 << 32;

impl Trace {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The error in the file, with its line.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let unreadable = |reason: &dyn std::fmt::Display| {
            Problem::new(format!("cannot read the trace {name}: {reason}"))
        };
        let bytes = std::fs::read(path).map_err(|error| unreadable(&error))?;
        let text = std::str::from_utf8(whole_lines(&bytes)).map_err(|error| unreadable(&error))?;
        Self::parse(&name, text)
    }

    /// Parses a text; `name` names it in errors.
    ///
    /// # Errors
    ///
    /// The error in the text, with its line.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let name: Arc<str> = name.into();
        let origin = |number: usize| Origin::File(Arc::clone(&name), number);
        let lines = (1..)
            .zip(text.lines())
            .map(|(number, line)| (origin(number), line));
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let (first, header) = lines.next().unwrap_or((origin(1), "{}"));
        check_header(&first, header)?;
        let (mut existing, mut records, mut ending) = (Vec::new(), Vec::new(), None);
        for (origin, line) in lines {
            let node = Node::parse_json(&origin, line)?;
            if node.get("exists").is_some() {
                existing.push((origin, node.read::<Exists>()?.exists));
            } else if node.get("end").is_some() {
                ending = Some((origin, node.read::<End>()?.end));
            } else {
                let record: Record = node.read()?;
                check_record(&record).map_err(|problem| problem.at(&origin))?;
                records.push((origin, record));
            }
        }
        if records.is_empty() {
            return Err(Problem::new("the trace has no operations").at(&first));
        }
        check_ending(ending, records.len() as u64)?;
        records.sort_by_key(|(_, record)| record.begin_ns);
        check_numbers(&existing, &records)?;
        let digest = format!("{:032x}", xxh3_128(text.as_bytes()));
        Ok(Programs::new(existing, records).trace(digest))
    }
}

/// The text without a last line that a crash or a full disk has truncated.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let (before, last) = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => bytes.split_at(end + 1),
        None => return bytes,
    };
    let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(last).is_ok();
    if is_whole { bytes } else { before }
}

fn check_ending(ending: Option<(Origin, Ending)>, records: u64) -> Result<(), Problem> {
    match ending {
        Some((origin, Ending { operations, .. })) if operations != records => {
            let text =
                format!("this is the end of a trace of {operations} operations; it has {records}");
            Err(Problem::new(text).inside("end").at(&origin))
        }
        _ => Ok(()),
    }
}

/// The most data that is written before the replay of a trace: all files that exist from the start,
/// in bytes.
const PREPARED_BYTES_MAX: u64 = 1 << 40;

fn check_header(origin: &Origin, line: &str) -> Result<(), Problem> {
    let node = Node::parse_json(origin, line)?;
    let header: Header = node.read().map_err(|problem| {
        problem.suggest(format!(
            "a trace begins with {{\"futago_trace\":{VERSION}}}"
        ))
    })?;
    if header.futago_trace == VERSION {
        return Ok(());
    }
    let text = format!("this is not the version that is known, {VERSION}");
    Err(Problem::new(text).inside("futago_trace").at(origin))
}

/// Whether an operation is possible.
fn check_record(record: &Record) -> Result<(), Problem> {
    if record.begin_ns.checked_add(record.took_ns).is_none() {
        return Err(Problem::new("this is too long").inside("took_ns"));
    }
    if record.operation.data_bytes() > MOVED_BYTES_MAX {
        let text = format!("an operation moves at most {MOVED_BYTES_MAX} bytes");
        return Err(Problem::new(text).inside("length").inside("operation"));
    }
    if let Operation::Write { offset, length, .. } = record.operation
        && offset.saturating_add(length) > limits::FILE_BYTES
    {
        let text = "no file is so large";
        return Err(Problem::new(text).inside("offset").inside("operation"));
    }
    let symlink = match record.operation {
        Operation::Symlink { size, .. } => size,
        _ => 0,
    };
    check_target(symlink).map_err(|problem| problem.inside("operation"))?;
    if record.error.is_some() && record.operation.finds().is_some() {
        let text = "an operation that fails neither makes nor finds a file";
        return Err(Problem::new(text).inside("error"));
    }
    Ok(())
}

fn check_target(size: u32) -> Result<(), Problem> {
    if size as usize <= limits::PATH_BYTES {
        return Ok(());
    }
    let text = format!("a target has at most {} bytes", limits::PATH_BYTES);
    Err(Problem::new(text).inside("size"))
}

/// Checks that every file is known when it is used.
fn check_numbers(
    existing: &[(Origin, Existing)],
    records: &[(Origin, Record)],
) -> Result<(), Problem> {
    let mut known = BTreeSet::from([ROOT]);
    let mut prepared_bytes = 0;
    for (origin, existing) in existing {
        check_existing(existing, &mut known, &mut prepared_bytes)
            .map_err(|problem| problem.inside("exists").at(origin))?;
    }
    for (origin, record) in records {
        if let Some(file) = record.operation.files().find(|file| !known.contains(file)) {
            let text = format!("no line that comes before says which file {file} is");
            return Err(Problem::new(text).inside("operation").at(origin));
        }
        known.extend(record.operation.finds().map(|(file, ..)| file));
    }
    Ok(())
}

/// `prepared_bytes` is the total size of the files before.
fn check_existing(
    existing: &Existing,
    known: &mut BTreeSet<u64>,
    prepared_bytes: &mut u64,
) -> Result<(), Problem> {
    let Existing {
        file, directory, ..
    } = existing;
    if !known.contains(directory) {
        let text = format!("no line above says which directory {directory} is");
        return Err(Problem::new(text).inside("in"));
    }
    if !known.insert(*file) {
        return Err(Problem::new(format!("there is another file {file}")).inside("file"));
    }
    match existing.kind {
        ExistingKind::Symlink { size } => check_target(size).map_err(|p| p.inside("kind")),
        ExistingKind::File { size } => {
            *prepared_bytes = prepared_bytes.saturating_add(size);
            if *prepared_bytes <= PREPARED_BYTES_MAX {
                return Ok(());
            }
            let text = format!("files that exist have at most {PREPARED_BYTES_MAX} bytes together");
            Err(Problem::new(text).inside("kind"))
        }
        ExistingKind::Directory => Ok(()),
    }
}
