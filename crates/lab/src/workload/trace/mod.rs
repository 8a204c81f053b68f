//! Recorded runs as workloads: the operations of the processes of a [trace](futago_trace).
//!
//! [`Trace::parse`] converts a trace into [`Step`]s for each process, with the time in which the
//! program itself was busy before each.

mod program;
mod read;

pub use program::{Action, Step};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A recorded run, ready for replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// A digest of the file.
    pub digest: String,
    /// Makes the files and directories that existed before the run.
    pub preparation: Vec<Step>,
    /// The steps of each process, in the order of their numbers.
    pub processes: Vec<Vec<Step>>,
}

impl Trace {
    /// The largest number of steps of a process.
    pub fn longest(&self) -> u64 {
        let steps = self.processes.iter().map(Vec::len);
        steps.max().unwrap_or(0) as u64
    }

    /// The think time of a client before one of its steps; `None` if it has no more.
    pub fn think_ns(&self, client: u32, number: u64) -> Option<u64> {
        let steps = self.processes.get(client as usize)?;
        let step = steps.get(usize::try_from(number).ok()?)?;
        Some(step.think_ns)
    }

    /// The most bytes that its files hold, if none of them is removed.
    pub fn held_bytes(&self) -> u64 {
        let mut files: BTreeMap<u64, FileData> = BTreeMap::new();
        let steps = self.preparation.iter();
        for step in steps.chain(self.processes.iter().flatten()) {
            if let Action::Perform(operation) = &step.action
                && let Some((file, offset, length)) = operation.writes()
            {
                files.entry(file).or_default().write(offset, length);
            }
        }
        let held = files.values().map(FileData::bytes);
        held.fold(0, u64::saturating_add)
    }
}

/// The data of a file.
#[derive(Default)]
struct FileData {
    /// Bytes written to it; some of them may be rewritten.
    written: u64,
    end: u64,
}

impl FileData {
    fn write(&mut self, offset: Option<u64>, length: u64) {
        let end = offset.unwrap_or(self.end).saturating_add(length);
        self.end = self.end.max(end);
        self.written = self.written.saturating_add(length);
    }

    fn bytes(&self) -> u64 {
        self.end.min(self.written)
    }
}

#[cfg(test)]
mod tests;
