//! The failures of reading data.

use crate::StoreError;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most failures that are listed.
const LISTED_MAX: usize = 16;

/// The failures of reading data.
#[derive(Debug, Default)]
pub struct Reading(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    /// Whether there was one since the last [`Reading::take_failed`].
    is_new: bool,
    /// The first ones.
    listed: Vec<String>,
}

impl Reading {
    /// Notes a failure.
    pub fn note_failure(&self, error: StoreError) {
        let error = error.to_string();
        let mut failures = self.failures();
        failures.is_new = true;
        if failures.listed.len() < LISTED_MAX && !failures.listed.contains(&error) {
            failures.listed.push(error);
        }
    }

    /// Whether reading has failed since the last call.
    pub fn take_failed(&self) -> bool {
        std::mem::take(&mut self.failures().is_new)
    }

    /// The first failures.
    pub fn listed(&self) -> Vec<String> {
        self.failures().listed.clone()
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
