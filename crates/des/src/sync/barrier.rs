use super::Padded;
use super::primitives::{AtomicUsize, Ordering, spin_loop, yield_now};

/// A barrier that threads spin on: windows are much shorter than the 20 µs that waking a sleeping
/// core takes.
///
/// All that a thread did before `wait` is visible to all others after it.
#[derive(Debug)]
pub(crate) struct Barrier {
    count: usize,
    arrived: Padded<AtomicUsize>,
    generation: Padded<AtomicUsize>,
}

/// Turns before a waiting thread offers its core to others, in case there are more threads than
/// cores.
const SPINS: u32 = 2_000;

impl Barrier {
    pub fn new(count: usize) -> Barrier {
        Barrier {
            count,
            arrived: Padded(AtomicUsize::new(0)),
            generation: Padded(AtomicUsize::new(0)),
        }
    }

    /// Returns once all threads have called it.
    pub fn wait(&self) {
        // Cannot change before this thread has arrived.
        let generation = self.generation.0.load(Ordering::Relaxed);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.generation
                .0
                .store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut turns = 0;
        while self.generation.0.load(Ordering::Acquire) == generation {
            turns += 1;
            if turns < SPINS && cfg!(not(loom)) {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }
}

#[cfg(all(test, loom))]
mod every_interleaving {
    use loom::sync::Arc;

    use super::*;

    #[test]
    fn shows_all_writes_round_after_round() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0), AtomicUsize::new(0)));
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || {
                other.1.store(1, Ordering::Relaxed);
                other.0.wait();
                assert_eq!(other.2.load(Ordering::Relaxed), 1);
                other.0.wait();
                other.1.store(2, Ordering::Relaxed);
            });
            shared.2.store(1, Ordering::Relaxed);
            shared.0.wait();
            assert_eq!(
                shared.1.load(Ordering::Relaxed),
                1,
                "the second round is not open yet"
            );
            shared.0.wait();
            thread.join().unwrap();
        });
    }
}
