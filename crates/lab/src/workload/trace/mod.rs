//! Recorded runs as workloads: what the processes of a [trace](futago_trace) are to do.
//!
//! [`Trace::parse`] makes of a trace what each process is to do: [`Step`]s, with the time in which the program
//! itself was busy before each.

mod program;
mod read;

pub use program::{Action, Step};

use serde::{Deserialize, Serialize};

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

    /// Bytes of file data that are written, beforehand too.
    pub fn written_bytes(&self) -> u64 {
        let steps = self.processes.iter().flatten().chain(&self.preparation);
        let bytes = steps.map(|step| match &step.action {
            Action::Perform(operation) => operation.written_bytes(),
            Action::Find { .. } => 0,
        });
        bytes.sum()
    }
}

#[cfg(test)]
mod tests;
