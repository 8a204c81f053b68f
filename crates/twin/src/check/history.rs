//! Operations of clients with their results and times.

use crate::model::{Observed, Operation};
use futago_base::Time;

/// An operation that was begun.
#[derive(Clone, Debug)]
pub struct Record {
    /// The client that asked.
    pub client: usize,
    /// The operation.
    pub operation: Operation,
    /// When.
    pub called: Time,
    /// The result and its time; none if the client died first.
    pub returned: Option<(Time, Observed)>,
}

impl Record {
    /// When it was over.
    pub fn end(&self) -> Time {
        self.returned.as_ref().map_or(Time(u64::MAX), |(at, _)| *at)
    }

    /// Whether the two ran side by side.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.called <= other.end() && other.called <= self.end()
    }
}

/// The operations of a burst, in the order in which they were begun.
pub type History = Vec<Record>;
