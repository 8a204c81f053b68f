//! Converts events to lines: assigns them to processes, and finds out which files existed before.

use super::event::{Event, Met};
use crate::{Ending, Existing, Exists, Names, Operation, ROOT, Record};
use futago_base::{Errno, Kind, Name};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The lines so far.
#[derive(Debug)]
pub struct Story {
    names: Names,
    /// The files in lines so far, and whether they existed from the start.
    reported: HashMap<u64, bool>,
    /// Files that were found, and whose size is not known yet.
    unmeasured: BTreeMap<u64, Met>,
    /// The processes that have opened a file and not closed it.
    openers: HashMap<u64, Vec<u64>>,
    /// The next number for a file whose number is unknown. Real files have small numbers.
    invented: u64,
    ending: Ending,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            names: Names::default(),
            reported: HashMap::from([(ROOT, true)]),
            unmeasured: BTreeMap::new(),
            openers: HashMap::new(),
            invented: i64::MAX as u64,
            ending: Ending::default(),
        }
    }
}

/// Adds a line to a text.
pub fn push(text: &mut Vec<u8>, line: &impl Serialize) {
    // Every line can be expressed in JSON, and writing to memory cannot fail.
    if serde_json::to_writer(&mut *text, line).is_ok() {
        text.push(b'\n');
    }
}

impl Story {
    /// Appends the lines of an event to a text.
    pub fn tell(&mut self, event: Event, text: &mut Vec<u8>) {
        let process = self.process(&event);
        let Event {
            begin_ns,
            end_ns,
            operation,
            error,
            met,
            ..
        } = event;
        for file in operation.files() {
            self.settle(file, text);
        }
        if !operation
            .files()
            .all(|file| self.reported.contains_key(&file))
        {
            self.ending.left_out += 1;
            return;
        }
        for met in met {
            self.meet(met, text);
        }
        if let Some((directory, name, kind)) = unseen(&operation, error) {
            self.invent(directory, name, kind, text);
        }
        if error.is_none() {
            self.names.follow(&operation);
        }
        // The file was created, or the time of its creation is unknown.
        if let Some((file, ..)) = operation.finds() {
            self.reported.entry(file).or_insert(false);
        }
        self.ending.operations += 1;
        let record = Record {
            process,
            begin_ns,
            took_ns: end_ns.saturating_sub(begin_ns),
            operation,
            error,
        };
        push(text, &record);
    }

    /// Appends the last lines to a text.
    pub fn end(mut self, text: &mut Vec<u8>) -> Ending {
        for met in std::mem::take(&mut self.unmeasured).into_values() {
            self.exists(met.existing(), text);
        }
        self.ending
    }

    /// The process of an operation. Kernels close files on behalf of no process, and libraries do
    /// so on threads of their own. Then the operation belongs to the process that opened the file.
    fn process(&mut self, event: &Event) -> u64 {
        let opened = event.error.is_none();
        match event.operation {
            Operation::Close { file } => self.close(file, event.process),
            Operation::Open { file }
            | Operation::Create {
                open: true,
                file: Some(file),
                ..
            } if opened => {
                let process = event.process.unwrap_or(0);
                self.openers.entry(file).or_default().push(process);
                process
            }
            _ => event
                .process
                .unwrap_or_else(|| self.opener(&event.operation)),
        }
    }

    fn close(&mut self, file: u64, process: Option<u64>) -> u64 {
        let openers = self.openers.entry(file).or_default();
        let same = openers.iter().position(|opener| Some(*opener) == process);
        let opener = (!openers.is_empty()).then(|| openers.remove(same.unwrap_or(0)));
        if openers.is_empty() {
            self.openers.remove(&file);
        }
        opener.or(process).unwrap_or(0)
    }

    fn opener(&self, operation: &Operation) -> u64 {
        let openers = operation.files().find_map(|file| self.openers.get(&file));
        let first = openers.and_then(|openers| openers.first());
        first.copied().unwrap_or(0)
    }

    /// Appends the line of a file that is used before its size is known.
    fn settle(&mut self, file: u64, text: &mut Vec<u8>) {
        if let Some(met) = self.unmeasured.remove(&file) {
            self.exists(met.existing(), text);
        }
    }

    /// Processes a file that an operation found.
    fn meet(&mut self, mut met: Met, text: &mut Vec<u8>) {
        let believed = self.names.file(met.directory, &met.name);
        self.names.add(met.file, met.directory, &met.name);
        let before = self.unmeasured.remove(&met.file);
        let is_reported = before.is_none() && self.reported.contains_key(&met.file);
        let first = match believed {
            // The operation that moved it since then has a line.
            Some(file) if file == met.file => before,
            // This file was at the location of the first find.
            Some(other) => {
                let taken_for = self.unmeasured.remove(&other);
                taken_for.filter(|other| other.file > self.invented)
            }
            None => None,
        };
        if is_reported {
            return;
        }
        if let Some(first) = first {
            (met.directory, met.name) = (first.directory, first.name);
        }
        if met.is_complete() {
            self.exists(met.existing(), text);
        } else {
            self.unmeasured.insert(met.file, met);
        }
    }

    /// Invents a file that must have existed, because an operation on its name shows it. Its kind
    /// may be known.
    fn invent(&mut self, directory: u64, name: &Name, kind: Option<Kind>, text: &mut Vec<u8>) {
        if let Some(file) = self.names.file(directory, name) {
            if kind.is_some() {
                self.settle(file, text);
            }
            return;
        }
        let met = Met {
            file: self.invented,
            directory,
            name: name.clone(),
            kind: kind.unwrap_or(Kind::File),
            size: kind.map(|_| 0),
        };
        self.invented -= 1;
        self.meet(met, text);
    }

    /// Appends the line of an existing file, unless its directory is newer.
    fn exists(&mut self, existing: Existing, text: &mut Vec<u8>) {
        if self.reported.get(&existing.directory) == Some(&true) {
            self.reported.insert(existing.file, true);
            push(text, &Exists { exists: existing });
        }
    }
}

/// The name that must have existed before an operation, and its kind if the operation shows it.
fn unseen(operation: &Operation, error: Option<Errno>) -> Option<(u64, &Name, Option<Kind>)> {
    match (operation, error) {
        (Operation::Unlink { directory, name }, None) => Some((*directory, name, Some(Kind::File))),
        (Operation::RemoveDirectory { directory, name }, None) => {
            Some((*directory, name, Some(Kind::Directory)))
        }
        (
            Operation::Rename {
                directory, name, ..
            },
            None,
        )
        | (
            Operation::Create {
                directory, name, ..
            }
            | Operation::MakeDirectory {
                directory, name, ..
            }
            | Operation::Symlink {
                directory, name, ..
            }
            | Operation::Link {
                directory, name, ..
            },
            Some(Errno::EEXIST),
        ) => Some((*directory, name, None)),
        _ => None,
    }
}
