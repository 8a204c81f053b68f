//! How long a cache line takes from one core of this host to another.
//!
//! The cores of a virtual machine are threads of its host, which moves them as it likes: onto cores
//! that have a third-level cache in common, and onto others, from which every line takes several
//! times as long. Two threads that throw a line to and fro see it at once.

use futago_node::cores;
use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

/// How often the line goes to and fro in a batch, and how many batches there are: half a
/// millisecond in all where cores are beside each other.
const THROWS: u64 = 250;
const BATCHES: u64 = 32;

/// A cache line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// How long a line takes from one core to the next, in nanoseconds: the lower quartile of all
/// batches, as other processes may have taken either core meanwhile. `None` if there is one
/// core.
pub fn handover_ns() -> Option<f64> {
    let &[here, there, ..] = &cores::allowed()[..] else {
        return None;
    };
    let line = Line(AtomicU64::new(0));
    let mut batches_ns = thread::scope(|scope| {
        scope.spawn(|| {
            cores::bind(there);
            (0..THROWS * BATCHES).for_each(|throw| take_and_throw(&line, 2 * throw + 1));
        });
        let thrower = scope.spawn(|| {
            cores::bind(here);
            (0..BATCHES).map(|batch| batch_ns(&line, batch)).collect()
        });
        thrower.join().unwrap_or_else(|_| Vec::new())
    });
    batches_ns.sort_by(f64::total_cmp);
    batches_ns.get(batches_ns.len() / 4).copied()
}

/// Throws the line so often and waits for it each time. Returns what one way takes, in nanoseconds.
fn batch_ns(line: &Line, batch: u64) -> f64 {
    let began = Instant::now();
    for throw in batch * THROWS..(batch + 1) * THROWS {
        line.0.store(2 * throw + 1, Ordering::Release);
        wait_for(line, 2 * throw + 2);
    }
    began.elapsed().as_nanos() as f64 / (2 * THROWS) as f64
}

fn take_and_throw(line: &Line, number: u64) {
    wait_for(line, number);
    line.0.store(number + 1, Ordering::Release);
}

fn wait_for(line: &Line, number: u64) {
    while line.0.load(Ordering::Acquire) != number {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_some_time_where_there_are_two_cores() {
        let cores = cores::allowed().len();
        let took_ns = handover_ns();
        assert_eq!(took_ns.is_some(), cores > 1);
        assert!(took_ns.is_none_or(|ns| ns > 0.0));
    }
}
