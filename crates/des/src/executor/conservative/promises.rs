use crate::Time;
use crate::sync::Padded;
use crate::sync::primitives::{AtomicBool, AtomicU64, Ordering};

/// The promises of all partitions for one window. They are written before a barrier and read after
/// it, so the barrier orders the accesses.
#[derive(Debug)]
pub(super) struct Promises {
    count: usize,
    rows: Vec<Padded<Row>>,
    given_up: AtomicBool,
}

/// The promises of one partition.
#[derive(Debug)]
struct Row {
    next_event: AtomicU64,
    /// The earliest event that it has just sent to each partition.
    earliest_mail: Vec<AtomicU64>,
}

impl Promises {
    pub fn new(count: usize) -> Promises {
        let row = || Row {
            next_event: AtomicU64::new(0),
            earliest_mail: (0..count).map(|_| AtomicU64::new(u64::MAX)).collect(),
        };
        Promises {
            count,
            rows: (0..count).map(|_| Padded(row())).collect(),
            given_up: AtomicBool::new(false),
        }
    }

    pub fn set_next_event(&self, partition: usize, time: Time) {
        self.rows[partition]
            .0
            .next_event
            .store(time.ticks(), Ordering::Relaxed);
    }

    pub fn set_earliest_mail(&self, from: usize, to: usize, time: Time) {
        self.rows[from].0.earliest_mail[to].store(time.ticks(), Ordering::Relaxed);
    }

    /// The time of the next event of the partition, including mail to it.
    pub fn next_event(&self, partition: usize) -> Time {
        let own = self.rows[partition].0.next_event.load(Ordering::Relaxed);
        let mail = self
            .rows
            .iter()
            .map(|row| row.0.earliest_mail[partition].load(Ordering::Relaxed));
        Time::from_ticks(mail.fold(own, u64::min))
    }

    /// Ends the run after this window; it cannot be resumed.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    pub fn given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// The promises of a partition as words, for other ranks.
    pub fn row(&self, partition: usize) -> Vec<u64> {
        let row = &self.rows[partition].0;
        let mail = row
            .earliest_mail
            .iter()
            .map(|time| time.load(Ordering::Relaxed));
        std::iter::once(row.next_event.load(Ordering::Relaxed))
            .chain(mail)
            .collect()
    }

    /// Adopts the result of [`Promises::row`] on another rank.
    pub fn set_row(&self, partition: usize, words: &[u64]) {
        let mut times = words.iter().map(|&ticks| Time::from_ticks(ticks));
        self.set_next_event(partition, times.next().unwrap_or(Time::ZERO));
        for (to, time) in times.take(self.count).enumerate() {
            self.set_earliest_mail(partition, to, time);
        }
    }
}

#[cfg(all(test, loom))]
mod every_interleaving {
    use loom::sync::Arc;

    use super::*;
    use crate::sync::Barrier;

    /// Like the executor: two alternating sets, one barrier per window.
    fn promise_and_read(me: usize, barrier: &Barrier, promises: &[Promises; 2]) {
        for window in 0..3 {
            let (mine, others) = (10 * window + me as u64, 10 * window + 1 - me as u64);
            let promises = &promises[(window % 2) as usize];
            promises.set_next_event(me, Time::from_ticks(mine));
            barrier.wait();
            assert_eq!(promises.next_event(me), Time::from_ticks(mine));
            assert_eq!(promises.next_event(1 - me), Time::from_ticks(others));
        }
    }

    #[test]
    fn nobody_reads_a_promise_of_another_window() {
        loom::model(|| {
            let promises = [Promises::new(2), Promises::new(2)];
            let shared = Arc::new((Barrier::new(2), promises));
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || promise_and_read(1, &other.0, &other.1));
            promise_and_read(0, &shared.0, &shared.1);
            thread.join().unwrap();
        });
    }
}
