//! The failure of this rank, in any of its threads.

use std::sync::{Mutex, PoisonError};

use crate::Model;
use crate::fault::{Error, FailedEvent};

/// The reported failure of a run: the first failed event in the total order, so that it does not
/// depend on the scheduling of threads.
#[derive(Debug, Default)]
pub(super) struct Failure {
    event: Mutex<Option<FailedEvent>>,
    ranks: Mutex<Option<Error>>,
}

impl Failure {
    pub fn of_event(&self, failed: FailedEvent) {
        let mut known = self.event.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| failed.key < known.key) {
            *known = Some(failed);
        }
    }

    pub fn of_ranks(&self, error: Error) {
        *self.ranks.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    pub fn into_error(self, model: &impl Model) -> Option<Error> {
        let event = self
            .event
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let ranks = self
            .ranks
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        event.map(|failed| failed.into_error(model)).or(ranks)
    }
}
