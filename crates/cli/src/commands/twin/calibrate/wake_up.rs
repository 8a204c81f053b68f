//! The time to wake a thread.

use std::{sync::mpsc, thread, time::Instant};

/// How often two threads wake each other.
const WAKE_UPS: u32 = 2_000;

/// Half of the time in which two threads that sleep wake each other, in nanoseconds.
pub fn wake_up_ns() -> f64 {
    let (there, called) = mpsc::channel();
    let (back, answered) = mpsc::channel();
    let other = thread::spawn(move || {
        for () in called {
            if back.send(()).is_err() {
                return;
            }
        }
    });
    let began = Instant::now();
    for _ in 0..WAKE_UPS {
        if there.send(()).is_err() || answered.recv().is_err() {
            break;
        }
    }
    let took = began.elapsed();
    drop(there);
    // It has no reason to panic; if it has, the figure is wrong and nothing else.
    let _ = other.join();
    took.as_nanos() as f64 / f64::from(WAKE_UPS) / 2.0
}
