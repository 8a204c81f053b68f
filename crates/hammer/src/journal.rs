//! What one actor has done, and what it is doing.

use futago_base::Time;
use futago_twin::check::Record;
use futago_twin::model::{Observed, Operation};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What an actor is doing, for others to look at.
#[derive(Clone, Default)]
pub struct Doing(Arc<Mutex<Option<(Instant, String)>>>);

impl Doing {
    fn lock(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something that others can see going on.
    pub fn show<T>(&self, what: String, work: impl FnOnce() -> T) -> T {
        *self.lock() = Some((Instant::now(), what));
        let done = work();
        *self.lock() = None;
        done
    }

    /// For how long it has been doing what.
    pub fn look(&self) -> Option<(Duration, String)> {
        let doing = self.lock();
        let (since, what) = doing.as_ref()?;
        Some((since.elapsed(), what.clone()))
    }
}

/// Writes down what an actor does, with times of a clock that all actors share.
pub struct Journal {
    clock: Instant,
    actor: usize,
    records: Vec<Record>,
    untold: u64,
    doing: Doing,
}

impl Journal {
    /// A journal of the actor with this number; times count from `clock`.
    pub const fn new(clock: Instant, actor: usize, doing: Doing) -> Self {
        Self {
            clock,
            actor,
            records: Vec::new(),
            untold: 0,
            doing,
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Does an operation and writes it down, unless what came of it tells nothing of the file system.
    pub fn observe<T>(
        &mut self,
        operation: &Operation,
        perform: impl FnOnce() -> T,
        tell: impl FnOnce(T) -> Option<Observed>,
    ) -> Option<Observed> {
        let what = format!("actor {}: {operation:?}", self.actor);
        let called = self.now();
        let (returned, observed) = self.doing.show(what, || {
            let result = perform();
            // To tell what came of it may take further calls, which can hang, too.
            (self.now(), tell(result))
        });
        let Some(observed) = observed else {
            self.untold += 1;
            return None;
        };
        self.records.push(Record {
            client: self.actor,
            operation: operation.clone(),
            called,
            returned: Some((returned, observed.clone())),
        });
        Some(observed)
    }

    /// What was done, and how many operations told nothing.
    pub fn into_records(self) -> (Vec<Record>, u64) {
        (self.records, self.untold)
    }
}
