//! Gauges of a running simulation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::memory::resident_bytes;
use crate::partition::Partition;
use crate::sync::Padded;
use crate::{Process, Settings, Time};

/// Gauges that a run updates once per window or GVT round, and any thread may read.
#[derive(Debug)]
pub struct Watch {
    started: Instant,
    partitions: Vec<Padded<Gauges>>,
}

#[derive(Debug, Default)]
struct Gauges {
    time: AtomicU64,
    certain_until: AtomicU64,
    committed: AtomicU64,
    rolled_back: AtomicU64,
    pending: AtomicU64,
    uncertain: AtomicU64,
}

/// The report of one partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub time: Time,
    pub certain_until: Time,
    pub committed: u64,
    pub rolled_back: u64,
    pub pending: usize,
    pub uncertain: usize,
}

impl Reading {
    /// The report of a partition whose events are certain up to `time`, without later executed
    /// events.
    pub fn certain<P: Process>(time: Time, partition: &Partition<P>) -> Reading {
        Reading {
            time,
            certain_until: time,
            committed: partition.tally.events_committed,
            rolled_back: partition.tally.events_rolled_back,
            pending: partition.queue.len(),
            uncertain: 0,
        }
    }
}

/// The state of a run at one moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// Time since the watch was made.
    pub wall_s: f64,
    /// The time of the slowest partition, in seconds of 10⁹ ticks.
    pub simulated_s: f64,
    /// The time before which no event can change (GVT), in seconds of 10⁹ ticks.
    pub gvt_s: f64,
    /// Events that are certain.
    pub events_committed: u64,
    /// Undone events.
    pub events_rolled_back: u64,
    /// Committed events per second, since the start.
    pub events_per_s: f64,
    /// The share of executed events that was not undone.
    pub efficiency: f64,
    /// Pending events.
    pub events_pending: u64,
    /// Executed events that are not yet certain.
    pub events_uncertain: u64,
    /// The memory of this process.
    pub resident_bytes: Option<u64>,
}

impl Watch {
    /// A watch for a run with these settings.
    pub fn new(settings: &Settings) -> Watch {
        let partitions = (0..settings.threads_in_use())
            .map(|_| Padded(Gauges::default()))
            .collect();
        Watch {
            started: Instant::now(),
            partitions,
        }
    }

    pub(crate) fn report(&self, partition: usize, reading: Reading) {
        let Some(Padded(gauges)) = self.partitions.get(partition) else {
            return;
        };
        gauges.time.store(reading.time.ticks(), Ordering::Relaxed);
        gauges
            .certain_until
            .store(reading.certain_until.ticks(), Ordering::Relaxed);
        gauges.committed.store(reading.committed, Ordering::Relaxed);
        gauges
            .rolled_back
            .store(reading.rolled_back, Ordering::Relaxed);
        gauges
            .pending
            .store(reading.pending as u64, Ordering::Relaxed);
        gauges
            .uncertain
            .store(reading.uncertain as u64, Ordering::Relaxed);
    }

    /// Reads all gauges.
    pub fn sample(&self) -> Sample {
        let sum = |gauge: fn(&Gauges) -> &AtomicU64| -> u64 {
            self.partitions
                .iter()
                .map(|part| gauge(&part.0).load(Ordering::Relaxed))
                .sum()
        };
        let least = |gauge: fn(&Gauges) -> &AtomicU64| -> f64 {
            let ticks = self
                .partitions
                .iter()
                .map(|part| gauge(&part.0).load(Ordering::Relaxed))
                .min();
            Time::from_ticks(ticks.unwrap_or(0)).seconds()
        };
        let wall_s = self.started.elapsed().as_secs_f64();
        let committed = sum(|gauges| &gauges.committed);
        let rolled_back = sum(|gauges| &gauges.rolled_back);
        Sample {
            wall_s,
            simulated_s: least(|gauges| &gauges.time),
            gvt_s: least(|gauges| &gauges.certain_until),
            events_committed: committed,
            events_rolled_back: rolled_back,
            events_per_s: committed as f64 / wall_s.max(1e-9),
            efficiency: super::statistics::efficiency(committed, rolled_back),
            events_pending: sum(|gauges| &gauges.pending),
            events_uncertain: sum(|gauges| &gauges.uncertain),
            resident_bytes: resident_bytes(),
        }
    }
}
