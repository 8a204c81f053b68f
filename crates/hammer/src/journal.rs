//! The operations of one actor, past and in progress.

use futago_base::Time;
use futago_twin::check::Record;
use futago_twin::model::{Observed, Operation};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The operation in progress of an actor, visible to other threads.
#[derive(Clone, Default)]
pub struct Doing(Arc<Mutex<Option<(Instant, String)>>>);

impl Doing {
    fn lock(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs an operation that is visible to other threads meanwhile.
    pub fn show<T>(&self, what: String, work: impl FnOnce() -> T) -> T {
        *self.lock() = Some((Instant::now(), what));
        let done = work();
        *self.lock() = None;
        done
    }

    /// The duration and the description of the operation in progress.
    pub fn look(&self) -> Option<(Duration, String)> {
        let doing = self.lock();
        let (since, what) = doing.as_ref()?;
        Some((since.elapsed(), what.clone()))
    }
}

/// Records the operations of an actor, with the times of a clock that all actors share.
pub struct Journal {
    clock: Instant,
    actor: usize,
    records: Vec<Record>,
    unrecorded: u64,
    doing: Doing,
}

impl Journal {
    /// A journal of the actor with this number; times count from `clock`.
    pub const fn new(clock: Instant, actor: usize, doing: Doing) -> Self {
        Self {
            clock,
            actor,
            records: Vec::new(),
            unrecorded: 0,
            doing,
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Performs and records an operation. It is not recorded if its result says nothing about the
    /// file system.
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
            // Interpreting the result may take further calls, which can hang, too.
            (self.now(), tell(result))
        });
        let Some(observed) = observed else {
            self.unrecorded += 1;
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

    /// The recorded operations, and the number of operations that were not recorded.
    pub fn into_records(self) -> (Vec<Record>, u64) {
        (self.records, self.unrecorded)
    }
}
