//! What a model is.

use crate::event::ProcessId;
use crate::{Process, Topology};

/// A set of logical processes and what is known about who talks to whom.
///
/// Nothing in it depends on the executor.
pub trait Model: Sync {
    /// The kind of process, an `enum` if there are several.
    type Process: Process;

    /// How many processes there are.
    fn process_count(&self) -> u32;

    /// Makes a process. Called once for each, on the thread that will run it.
    fn create(&self, id: ProcessId) -> Self::Process;

    /// Who sends to whom, and how far ahead at least.
    fn topology(&self) -> Topology;

    /// What messages call the process.
    fn name(&self, id: ProcessId) -> String {
        format!("process {}", id.0)
    }

    /// The partition that suits the process best, for [`Placement::Hint`](crate::Placement). Taken
    /// modulo the number of partitions.
    fn partition_hint(&self, id: ProcessId, partitions: u32) -> u32 {
        id.0 % partitions
    }
}
