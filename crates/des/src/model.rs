//! The definition of a model.

use crate::event::ProcessId;
use crate::{Process, Topology};

/// A set of logical processes and their links.
///
/// A model does not depend on the executor.
pub trait Model: Sync {
    /// The kind of process, an `enum` if there are several.
    type Process: Process;

    /// The number of processes.
    fn process_count(&self) -> u32;

    /// Makes a process. Called once for each, on the thread that will run it.
    fn create(&self, id: ProcessId) -> Self::Process;

    /// The links between processes, and their lookaheads.
    fn topology(&self) -> Topology;

    /// The name of a process in messages.
    fn name(&self, id: ProcessId) -> String {
        format!("process {}", id.0)
    }

    /// The preferred partition of the process, for [`Placement::Hint`](crate::Placement). It is
    /// taken modulo the number of partitions.
    fn partition_hint(&self, id: ProcessId, partitions: u32) -> u32 {
        id.0 % partitions
    }
}
