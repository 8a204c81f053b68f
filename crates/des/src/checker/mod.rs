//! Finds undos that do not restore, before an optimistic run is silently wrong.

mod fields;
mod forward_and_back;
mod random_rollbacks;

use serde::Serialize;

use crate::{Error, Model, Settings, Time};

/// What a model withstood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Events that were executed, undone and executed again.
    pub events: u64,
    /// Events that were taken back by injected rollbacks.
    pub events_rolled_back: u64,
    /// The digest, which all of it left unchanged.
    pub digest: String,
}

/// Where a process is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The process.
    pub process: String,
    /// The event that was undone or repeated.
    pub event: String,
    /// Its time.
    pub time: Time,
    /// The path of the field in the process, or in what it sent.
    pub field: String,
    /// Its value at first.
    pub first: String,
    /// Its value afterwards, which should be the same.
    pub second: String,
}

/// What is wrong with a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// `undo` leaves something different from what was there before `handle`.
    #[error(
        "{} does not restore `{}` when it takes back {} of {}: it was {} and became {}",
        .0.process, .0.field, .0.event, .0.time, .0.first, .0.second
    )]
    NotRestored(Box<Difference>),
    /// `handle` does something else the second time: it depends on what is not in the process, or
    /// on what `#[serde(skip)]` hides and `undo` does not restore.
    #[error(
        "{} handles {} of {} differently the second time: `{}` was {} and became {}",
        .0.process, .0.event, .0.time, .0.field, .0.first, .0.second
    )]
    NotRepeatable(Box<Difference>),
    /// Rollbacks change the results, though no field tells where.
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
/// The first thing that is [`Broken`].
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
