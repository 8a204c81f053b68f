//! Adaptive polling before a thread blocks.
//!
//! A waiting thread polls for up to 4 ms, because a wake-up by the kernel takes longer than most
//! replies. It yields between polls, because client and server often share a core. The spin limit
//! adapts to the waits of each direction.

use crate::busy::{self, now};
use futago_base::Time;
use futago_driver::{Contention, SpinLimit};
use std::{cell::Cell, thread};

thread_local! {
    static CONTENTION: Cell<Contention> = Cell::new(Contention::default());
    static SPIN_LIMIT: Cell<SpinLimit> = Cell::new(SpinLimit::default());
}

/// Whether other threads need the CPU, so that this thread should block.
pub fn is_contended(now: Time) -> bool {
    CONTENTION.get().is_contended(now)
}

/// Yields the CPU, and measures the contention. Takes and returns the time.
pub fn yield_cpu(before: Time) -> Time {
    thread::yield_now();
    let now = now();
    let mut contention = CONTENTION.get();
    contention.yielded(now.since(before), now);
    CONTENTION.set(contention);
    now
}

/// Waits for another thread: polls up to the thread's spin limit, then blocks. The thread is idle
/// meanwhile, and [busy](crate::busy) afterwards.
pub fn wait<T>(mut poll: impl FnMut() -> Option<T>, block: impl FnOnce() -> T) -> T {
    let since = now();
    busy::end(since);
    let mut spin_limit = SPIN_LIMIT.get();
    let mut polled_at = since;
    let found = loop {
        if let Some(found) = poll() {
            break found;
        }
        let before = now();
        // Reading part of an incomplete message was work.
        busy::end(before);
        if is_contended(before) || before.since(since) >= spin_limit.span() {
            let found = block();
            polled_at = now();
            break found;
        }
        polled_at = yield_cpu(before);
    };
    busy::begin(polled_at);
    spin_limit.learn(polled_at.since(since));
    SPIN_LIMIT.set(spin_limit);
    found
}
