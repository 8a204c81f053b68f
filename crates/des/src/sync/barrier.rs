use std::sync::PoisonError;

use super::Padded;
use super::primitives::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, spin_loop};

/// A barrier that threads spin on for a while, because windows are much shorter than the 20 µs for
/// waking a sleeping core. Then they block. Yielding instead would be cheap on an idle machine. On
/// a busy one, every yield waits for the time slices of all other threads.
///
/// All writes of a thread before `wait` are visible to all others after it.
#[derive(Debug)]
pub(crate) struct Barrier {
    count: usize,
    arrived: Padded<AtomicUsize>,
    generation: Padded<AtomicUsize>,
    /// How many threads are blocked.
    sleepers: Mutex<usize>,
    opened: Condvar,
}

/// Spins before a waiting thread blocks. Under loom it blocks at once.
const SPINS: u32 = if cfg!(loom) { 0 } else { 2_000 };

impl Barrier {
    pub fn new(count: usize) -> Barrier {
        Barrier {
            count,
            arrived: Padded(AtomicUsize::new(0)),
            generation: Padded(AtomicUsize::new(0)),
            sleepers: Mutex::new(0),
            opened: Condvar::new(),
        }
    }

    /// Returns once all threads have called it.
    pub fn wait(&self) {
        // The generation cannot change before this thread has arrived.
        let generation = self.generation.0.load(Ordering::Relaxed);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.open(generation.wrapping_add(1));
        } else if (0..SPINS).all(|_| self.spin(generation)) {
            self.sleep(generation);
        }
    }

    fn open(&self, generation: usize) {
        let sleepers = self.sleepers();
        self.generation.0.store(generation, Ordering::Release);
        if *sleepers > 0 {
            self.opened.notify_all();
        }
    }

    /// Spins once; returns false if the barrier has opened.
    #[inline]
    fn spin(&self, generation: usize) -> bool {
        spin_loop();
        self.is_closed(generation)
    }

    fn sleep(&self, generation: usize) {
        let mut sleepers = self.sleepers();
        *sleepers += 1;
        while self.is_closed(generation) {
            let woken = self.opened.wait(sleepers);
            sleepers = woken.unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }

    fn is_closed(&self, generation: usize) -> bool {
        self.generation.0.load(Ordering::Acquire) == generation
    }

    fn sleepers(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
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
