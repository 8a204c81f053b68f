//! The busy time of a thread, without the time of polls that find nothing.
//!
//! The polling code reports the transitions. A thread becomes idle at the first poll that finds
//! nothing. It becomes busy at the poll that finds something, or when it reads part of an
//! incomplete message.

use futago_base::{Duration, Time};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;

thread_local! {
    static SINCE: Cell<Option<Time>> = const { Cell::new(None) };
    static TOTAL: Cell<Duration> = const { Cell::new(Duration(0)) };
}

/// The time of a monotonic clock that never steps.
pub fn now() -> Time {
    let time = clock_gettime(ClockId::Monotonic);
    Time(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The calling thread is busy from `now` on.
pub fn begin(now: Time) {
    if SINCE.get().is_none() {
        SINCE.set(Some(now));
    }
}

/// The calling thread is busy from this moment on.
pub fn begin_now() {
    if SINCE.get().is_none() {
        begin(now());
    }
}

/// The calling thread is idle from `now` on.
pub fn end(now: Time) {
    if let Some(since) = SINCE.take() {
        TOTAL.set(Duration(TOTAL.get().0 + now.since(since).0));
    }
}

/// The time since which the calling thread is busy; `None` if it is idle.
pub fn since() -> Option<Time> {
    SINCE.get()
}

/// The total busy time of the calling thread until `now`.
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
