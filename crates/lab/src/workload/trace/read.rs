//! From lines to a trace.

use super::program::Programs;
use super::{Existing, ExistingKind, Operation, ROOT, Record, Trace, VERSION};
use crate::document::{Node, Origin, Problem};
use futago_base::limits;
use serde::Deserialize;
use std::{collections::BTreeSet, path::Path, sync::Arc};
use xxhash_rust::xxh3::xxh3_128;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    futago_trace: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exists {
    exists: Existing,
}

impl Trace {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and in which line.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Problem::new(format!("cannot read the trace {name}: {error}")))?;
        Self::parse(&name, &text)
    }

    /// Reads a text; `name` stands for it in errors.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and in which line.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let name: Arc<str> = name.into();
        let origin = |number: usize| Origin::File(Arc::clone(&name), number);
        let lines = (1..)
            .zip(text.lines())
            .map(|(number, line)| (origin(number), line));
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let (first, header) = lines.next().unwrap_or((origin(1), "{}"));
        check_header(&first, header)?;
        let (mut existing, mut records) = (Vec::new(), Vec::new());
        for (origin, line) in lines {
            let node = Node::parse_json(&origin, line)?;
            if node.get("exists").is_some() {
                existing.push((origin, node.read::<Exists>()?.exists));
            } else {
                let record: Record = node.read()?;
                check_record(&record).map_err(|problem| problem.at(&origin))?;
                records.push((origin, record));
            }
        }
        if records.is_empty() {
            return Err(Problem::new("the trace has no operations").at(&first));
        }
        records.sort_by_key(|(_, record)| record.begin_ns);
        check_numbers(&existing, &records)?;
        let digest = format!("{:032x}", xxh3_128(text.as_bytes()));
        Ok(Programs::new(existing, records).trace(digest))
    }
}

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

/// Whether an operation can have been like this.
fn check_record(record: &Record) -> Result<(), Problem> {
    if record.begin_ns.checked_add(record.took_ns).is_none() {
        return Err(Problem::new("this is too long").inside("took_ns"));
    }
    if record.operation.length() as usize > limits::PAYLOAD_BYTES {
        let text = format!("an operation moves at most {} bytes", limits::PAYLOAD_BYTES);
        return Err(Problem::new(text).inside("length").inside("operation"));
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

/// Whether every file is known when it is used.
fn check_numbers(
    existing: &[(Origin, Existing)],
    records: &[(Origin, Record)],
) -> Result<(), Problem> {
    let mut known = BTreeSet::from([ROOT]);
    for (origin, existing) in existing {
        check_existing(existing, &mut known)
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

fn check_existing(existing: &Existing, known: &mut BTreeSet<u64>) -> Result<(), Problem> {
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
        ExistingKind::File { size } if size > limits::FILE_BYTES => {
            Err(Problem::new("no file is so large").inside("kind"))
        }
        _ => Ok(()),
    }
}
