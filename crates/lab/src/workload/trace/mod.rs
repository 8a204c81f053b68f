//! Recorded runs: what the processes of a program did on a file system, and when.
//!
//! A trace is a file of JSON lines. The first one is the header, `{"futago_trace":1}`, with the version of
//! the format. Each other line is a [`Record`], an operation of a process, or says what [`Existing`] file or
//! directory the operations found. Lines may stand in any order: what counts is when operations began.
//! Files have numbers; 0 is the directory in which all takes place.
//!
//! [`Trace::parse`] makes of it what each process is to do: [`Step`]s, with the time in which the program
//! itself was busy before each.

mod operation;
mod program;
mod read;
mod text;

pub use operation::{Existing, ExistingKind, Operation, Record};
pub use program::{Action, Step};

use serde::{Deserialize, Serialize};

/// The number of the directory in which a trace takes place.
pub const ROOT: u64 = 0;

/// The version of the format.
pub const VERSION: u32 = 1;

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

    /// Bytes of file data that are written, beforehand too.
    pub fn written_bytes(&self) -> u64 {
        let steps = self.processes.iter().flatten().chain(&self.preparation);
        let bytes = steps.map(|step| match step.action {
            Action::Perform(Operation::Write { length, .. } | Operation::Append { length, .. }) => {
                u64::from(length)
            }
            _ => 0,
        });
        bytes.sum()
    }
}

#[cfg(test)]
mod tests;
