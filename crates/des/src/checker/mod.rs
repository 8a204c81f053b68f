//! Finds undos that do not restore the state, before an optimistic run is silently wrong.

mod fields;
mod forward_and_back;
mod random_rollbacks;

use serde::Serialize;

use crate::{Error, Model, Settings, Time};

/// The results of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Events that were executed, undone and executed again.
    pub events: u64,
    /// Events that injected rollbacks have undone.
    pub events_rolled_back: u64,
    /// The digest, the same after all runs.
    pub digest: String,
}

/// A difference in the state of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The process.
    pub process: String,
    /// The event that was undone or repeated.
    pub event: String,
    /// Its time.
    pub time: Time,
    /// The path of the field in the process, or in the events that it sent.
    pub field: String,
    /// Its value at first.
    pub first: String,
    /// Its value afterwards, which should be the same.
    pub second: String,
}

/// A defect of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// `undo` leaves a state that differs from the state before `handle`.
    #[error(
        "{} does not restore `{}` when it takes back {} of {}: it was {} and became {}",
        .0.process, .0.field, .0.event, .0.time, .0.first, .0.second
    )]
    NotRestored(Box<Difference>),
    /// `handle` behaves differently the second time. It depends on a state outside of the process,
    /// or on a field with `#[serde(skip)]` that `undo` does not restore.
    #[error(
        "{} handles {} of {} differently the second time: `{}` was {} and became {}",
        .0.process, .0.event, .0.time, .0.field, .0.first, .0.second
    )]
    NotRepeatable(Box<Difference>),
    /// Rollbacks change the results, but no field differs.
    #[error("random rollbacks change the digest from {expected} to {found}")]
    Digest {
        /// Without rollbacks.
        expected: String,
        /// With rollbacks.
        found: String,
    },
    /// The run itself fails.
    #[error(transparent)]
    Run(#[from] Error),
}

/// Runs the model sequentially in two ways: every event forward, back and forward again; and with
/// rollbacks of random processes by random lengths.
///
/// # Errors
///
/// The first defect, as [`Broken`].
pub fn check<M: Model>(model: &M, settings: &Settings) -> Result<Checked, Broken> {
    let (events, expected) = forward_and_back::check(model, settings)?;
    let (events_rolled_back, found) = random_rollbacks::check(model, settings)?;
    if expected != found {
        return Err(Broken::Digest { expected, found });
    }
    Ok(Checked {
        events,
        events_rolled_back,
        digest: expected,
    })
}
