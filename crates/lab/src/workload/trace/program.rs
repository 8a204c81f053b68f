//! The steps of each process of a trace.

use super::Trace;
use crate::document::Origin;
use futago_trace::{Existing, ExistingKind, Names, Operation, ROOT, Record};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The next step of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The time in which the program is busy before the step. It begins at the end of the last step
    /// of the process or, for the first step, at the beginning.
    pub think_ns: u64,
    /// The action.
    pub action: Action,
}

/// An operation of a trace, or its preparation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Finds a file that another process has made or found.
    Find {
        /// Its number.
        file: u64,
        /// Its path from the directory of the trace, without a `/` at either end.
        path: Vec<u8>,
    },
    /// A recorded operation.
    Perform(Operation),
}

impl Action {
    /// The number of the file that it makes or finds.
    pub fn finds(&self) -> Option<u64> {
        match self {
            Self::Find { file, .. } => Some(*file),
            Self::Perform(operation) => operation.finds().map(|(file, ..)| file),
        }
    }
}

/// The size of a single write to a file that exists from the start.
const WRITTEN_BYTES: u64 = 1 << 20;

/// Builds programs from records, in the order of their starts.
pub struct Programs {
    preparation: Vec<Step>,
    names: Names,
    processes: BTreeMap<u64, Process>,
}

#[derive(Default)]
struct Process {
    /// The end of all its earlier operations.
    free_ns: u64,
    /// The files that it has made or found.
    known: BTreeSet<u64>,
    steps: Vec<Step>,
}

impl Programs {
    /// Programs for files that exist from the start, each after its directory, and for records.
    pub fn new(existing: Vec<(Origin, Existing)>, records: Vec<(Origin, Record)>) -> Self {
        let mut programs = Self {
            preparation: Vec::new(),
            names: Names::default(),
            processes: BTreeMap::new(),
        };
        for (_, existing) in existing {
            programs.prepare(existing);
        }
        for (_, record) in records {
            programs.add(record);
        }
        programs
    }

    /// The resulting trace.
    pub fn trace(self, digest: String) -> Trace {
        let processes = self.processes.into_values();
        Trace {
            digest,
            preparation: self.preparation,
            processes: processes.map(|process| process.steps).collect(),
        }
    }

    /// Makes a file or directory that exists from the start. An existing directory is reused.
    fn prepare(&mut self, existing: Existing) {
        let Existing {
            file,
            directory,
            name,
            kind,
        } = existing;
        self.names.add(file, directory, &name);
        let found = Some(file);
        match kind {
            ExistingKind::Directory => {
                self.make(Operation::MakeDirectory {
                    directory,
                    name,
                    file: found,
                });
                let path = self.names.path(file).unwrap_or_default();
                let action = Action::Find { file, path };
                self.preparation.push(Step {
                    think_ns: 0,
                    action,
                });
            }
            ExistingKind::File { size } => {
                self.make(Operation::Create {
                    directory,
                    name,
                    exclusive: false,
                    open: false,
                    length: 0,
                    file: found,
                });
                self.fill(file, size);
            }
            ExistingKind::Symlink { size } => self.make(Operation::Symlink {
                directory,
                name,
                size,
                file: found,
            }),
        }
    }

    fn fill(&mut self, file: u64, size: u64) {
        for offset in (0..size).step_by(WRITTEN_BYTES as usize) {
            let length = (size - offset).min(WRITTEN_BYTES);
            self.make(Operation::Write {
                file,
                offset,
                length,
            });
        }
    }

    fn make(&mut self, operation: Operation) {
        let action = Action::Perform(operation);
        self.preparation.push(Step {
            think_ns: 0,
            action,
        });
    }

    /// Adds a record to the program of its process. The process first finds the files that it does
    /// not know.
    fn add(&mut self, record: Record) {
        let process = self.processes.entry(record.process).or_default();
        let mut think_ns = record.begin_ns.saturating_sub(process.free_ns);
        process.free_ns = process.free_ns.max(record.begin_ns + record.took_ns);
        let mut push = |action| {
            let think_ns = std::mem::take(&mut think_ns);
            process.steps.push(Step { think_ns, action });
        };
        for file in record.operation.files().filter(|file| *file != ROOT) {
            if process.known.insert(file)
                && let Some(path) = self.names.path(file)
            {
                push(Action::Find { file, path });
            }
        }
        process
            .known
            .extend(record.operation.finds().map(|(file, ..)| file));
        if record.error.is_none() {
            self.names.follow(&record.operation);
        }
        push(Action::Perform(record.operation));
    }
}
