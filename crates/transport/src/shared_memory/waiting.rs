//! Looking again and again before going to sleep.

use crate::busy::{self, now};
use futago_base::Time;
use futago_driver::{Contention, SpinLimit};
use std::{cell::Cell, thread};

thread_local! {
    static CONTENTION: Cell<Contention> = Cell::new(Contention::default());
    static SPIN_LIMIT: Cell<SpinLimit> = Cell::new(SpinLimit::default());
}

/// Whether others need the processors, so that this thread had better sleep.
pub fn is_contended(now: Time) -> bool {
    CONTENTION.get().is_contended(now)
}

/// Lets others run, and finds out whether there are too many of them. Takes and returns the time.
pub fn yield_processor(before: Time) -> Time {
    thread::yield_now();
    let now = now();
    let mut contention = CONTENTION.get();
    contention.yielded(now.since(before), now);
    CONTENTION.set(contention);
    now
}

/// Waits for what another thread brings: looks for it as long as that is worth it on this thread, then
/// sleeps. The thread is [busy](crate::busy) until then, and after it again.
pub fn wait<T>(mut look: impl FnMut() -> Option<T>, sleep: impl FnOnce() -> T) -> T {
    let since = now();
    busy::end(since);
    let mut spin_limit = SPIN_LIMIT.get();
    let mut looked = since;
    let found = loop {
        if let Some(found) = look() {
            break found;
        }
        let before = now();
        // What it took out of a message that has not wholly come was work.
        busy::end(before);
        if is_contended(before) || before.since(since) >= spin_limit.span() {
            let found = sleep();
            looked = now();
            break found;
        }
        looked = yield_processor(before);
    };
    busy::begin(looked);
    spin_limit.learn(looked.since(since));
    SPIN_LIMIT.set(spin_limit);
    found
}
