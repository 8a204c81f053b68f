//! Looking again and again before going to sleep.

use crate::busy::{self, now};
use futago_base::Time;
use futago_driver::{Crowding, Patience};
use std::{cell::Cell, thread};

thread_local! {
    static CROWDING: Cell<Crowding> = Cell::new(Crowding::default());
    static PATIENCE: Cell<Patience> = Cell::new(Patience::default());
}

/// Whether others need the processors, so that this thread had better sleep.
pub fn is_crowded(now: Time) -> bool {
    CROWDING.get().is_crowded(now)
}

/// Lets others run, and finds out whether there are too many of them. Takes and returns the time.
pub fn yield_processor(before: Time) -> Time {
    thread::yield_now();
    let now = now();
    let mut crowding = CROWDING.get();
    crowding.yielded(now.since(before), now);
    CROWDING.set(crowding);
    now
}

/// Waits for what another thread brings: looks for it as long as that is worth it on this thread, then
/// sleeps. The thread is [busy](crate::busy) until then, and after it again.
pub fn wait<T>(mut look: impl FnMut() -> Option<T>, sleep: impl FnOnce() -> T) -> T {
    let since = now();
    busy::end(since);
    let mut patience = PATIENCE.get();
    let mut looked = since;
    let found = loop {
        if let Some(found) = look() {
            break found;
        }
        let before = now();
        // What it took out of a message that has not wholly come was work.
        busy::end(before);
        if is_crowded(before) || before.since(since) >= patience.span() {
            let found = sleep();
            looked = now();
            break found;
        }
        looked = yield_processor(before);
    };
    busy::begin(looked);
    patience.learn(looked.since(since));
    PATIENCE.set(patience);
    found
}
