//! How long a thread has had something to do, apart from looking for it in vain.
//!
//! Who looks knows: a wait begins where the first look finds nothing, and ends before the look that
//! finds something, or where something is taken out of a message that has not wholly come.

use futago_base::{Duration, Time};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;

thread_local! {
    static SINCE: Cell<Option<Time>> = const { Cell::new(None) };
    static TOTAL: Cell<Duration> = const { Cell::new(Duration(0)) };
}

/// The time of a clock that never steps.
pub fn now() -> Time {
    let time = clock_gettime(ClockId::Monotonic);
    Time(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The calling thread has something to do.
pub fn begin(now: Time) {
    if SINCE.get().is_none() {
        SINCE.set(Some(now));
    }
}

/// The calling thread has found something to do.
pub fn begin_now() {
    if SINCE.get().is_none() {
        begin(now());
    }
}

/// The calling thread has nothing to do any more.
pub fn end(now: Time) {
    if let Some(since) = SINCE.take() {
        TOTAL.set(Duration(TOTAL.get().0 + now.since(since).0));
    }
}

/// Since when the calling thread has had something to do, if it has.
pub fn since() -> Option<Time> {
    SINCE.get()
}

/// How long the calling thread has had something to do until now.
pub fn total(now: Time) -> Duration {
    let under_way = SINCE.get().map_or(0, |since| now.since(since).0);
    Duration(TOTAL.get().0 + under_way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_busy_from_what_it_finds_to_the_look_that_finds_nothing() {
        let before = total(Time(100));
        begin(Time(100));
        begin(Time(150));
        assert_eq!(total(Time(200)).0 - before.0, 100);
        end(Time(300));
        end(Time(400));
        assert_eq!(total(Time(500)).0 - before.0, 200);
    }
}
