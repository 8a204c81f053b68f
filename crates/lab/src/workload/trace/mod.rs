//! Recorded runs as workloads: what the processes of a [trace](futago_trace) are to do.
//!
//! [`Trace::parse`] makes of a trace what each process is to do: [`Step`]s, with the time in which the program
//! itself was busy before each.

mod program;
mod read;

pub use program::{Action, Step};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A recorded run, ready to be performed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Stands for all that the file says.
    pub digest: String,
    /// What makes the files and directories that the operations found.
    pub preparation: Vec<Step>,
    /// What each process does, in the order of their numbers.
    pub processes: Vec<Vec<Step>>,
}

impl Trace {
    /// How many steps the process has that has most.
    pub fn longest(&self) -> u64 {
        let steps = self.processes.iter().map(Vec::len);
        steps.max().unwrap_or(0) as u64
    }

    /// How long a client thinks before one of its steps; `None` if it has no more.
    pub fn think_ns(&self, client: u32, turn: u64) -> Option<u64> {
        let steps = self.processes.get(client as usize)?;
        let step = steps.get(usize::try_from(turn).ok()?)?;
        Some(step.think_ns)
    }

    /// Bytes that its files hold at most, if none of them is removed.
    pub fn held_bytes(&self) -> u64 {
        let mut files: BTreeMap<u64, Held> = BTreeMap::new();
        let steps = self.preparation.iter();
        for step in steps.chain(self.processes.iter().flatten()) {
            if let Action::Perform(operation) = &step.action
                && let Some((file, offset, length)) = operation.writes()
            {
                files.entry(file).or_default().write(offset, length);
            }
        }
        let held = files.values().map(Held::bytes);
        held.fold(0, u64::saturating_add)
    }
}

/// What a file holds.
#[derive(Default)]
struct Held {
    /// Bytes that have been written to it, some of them perhaps time and again.
    written: u64,
    end: u64,
}

impl Held {
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
