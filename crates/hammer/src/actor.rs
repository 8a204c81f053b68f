//! Those who work on the file system.

use crate::journal::Journal;
use futago_twin::fuzz::Known;
use futago_twin::model::{Observed, Operation};

/// Somebody who works on the file system.
pub trait Actor: Send {
    /// What it can name.
    fn known(&self) -> &Known;

    /// Does an operation, in as many steps as it takes, and writes each of them down. Returns what came of
    /// the operation, if it is one that the actor can do.
    fn perform(&mut self, operation: &Operation, journal: &mut Journal) -> Option<Observed>;

    /// Closes and forgets everything.
    fn rest(&mut self);
}
