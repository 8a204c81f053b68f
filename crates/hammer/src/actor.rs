//! The actors, which work on the file system.

use crate::journal::Journal;
use futago_twin::fuzz::Known;
use futago_twin::model::{Observed, Operation};

/// An actor that works on the file system.
pub trait Actor: Send {
    /// The nodes that it can name.
    fn known(&self) -> &Known;

    /// Performs an operation in one or more steps and records each of them. Returns the result of
    /// the operation; `None` if the actor cannot perform it.
    fn perform(&mut self, operation: &Operation, journal: &mut Journal) -> Option<Observed>;

    /// Closes and forgets all files.
    fn rest(&mut self);
}
