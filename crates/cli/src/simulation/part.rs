//! Measurements of the clients of a real cluster in a phase.

use super::real::Works;
use anyhow::Context;
use futago_base::{Errno, Payload};
use futago_lab::{
    results::{Bound, LatencySummary, OperationResult, PhaseResult, TransactionResult},
    statistics::Latencies,
};
use futago_transport::busy;
use futago_twin::world::{Amount, OperationKind, Phase, Work};
use std::{collections::BTreeMap, time::Duration};

/// The measurements of one client in a phase.
#[derive(Default)]
pub struct Part {
    tallies: BTreeMap<OperationKind, Tally>,
    /// When the last operation ended, since the phase began.
    pub ended: Duration,
    /// Operations, those of the warm-up too.
    pub performed: u64,
    /// Operations that began after the warm-up.
    pub counted: u64,
    /// Operations that have arrived and have not begun before the end.
    pub left: u64,
    /// How long its thread was busy until the end of the warm-up, and in all.
    pub busy: [futago_base::Duration; 2],
    /// The data that it has read, to be checked after the time is taken.
    read: Vec<(Work, Payload)>,
}

impl Part {
    /// Some operations are about to begin, after the warm-up or in it.
    pub fn begin(&mut self, operations: u64, is_warm: bool) {
        if is_warm && self.counted == 0 {
            self.busy[0] = busy::total(busy::now());
        }
        self.counted += if is_warm { operations } else { 0 };
        self.performed += operations;
    }

    /// How long its client has had something to do for operations that began after the warm-up, in
    /// nanoseconds.
    pub const fn busy_ns(&self) -> u64 {
        match self.counted {
            0 => 0,
            _ => self.busy[1].0 - self.busy[0].0,
        }
    }

    /// Counts an operation, and the bytes that it has moved.
    pub fn add(&mut self, kind: OperationKind, outcome: Result<u64, Errno>, latency: Duration) {
        let tally = self.tallies.entry(kind).or_default();
        match outcome {
            Ok(bytes) => {
                tally.latencies.record(latency.as_nanos() as u64);
                tally.total_us += latency.as_secs_f64() * 1e6;
                tally.bytes += bytes;
            }
            Err(errno) => *tally.errors.entry(errno.name().to_owned()).or_default() += 1,
        }
    }

    /// Keeps what has been read, but each transfer once: from the warm-up on, so that the memory
    /// for it has come when operations begin to count.
    pub fn keep(&mut self, work: Work, outcome: Result<Payload, Errno>, works: &Works) {
        if let (Ok(read), OperationKind::Read) = (outcome, work.kind())
            && self.read.len() < works.transfers_made()
        {
            self.read.push((work, read));
        }
    }

    /// Whether it has read what had been written.
    pub fn check(&self) -> anyhow::Result<()> {
        for (work, read) in &self.read {
            let checked = work.check(read);
            checked.with_context(|| format!("{work:?} has not read what had been written"))?;
        }
        Ok(())
    }
}

/// How operations of one kind went.
#[derive(Default)]
struct Tally {
    latencies: Latencies,
    total_us: f64,
    bytes: u64,
    errors: BTreeMap<String, u64>,
}

impl Tally {
    fn merge(&mut self, other: Self) {
        self.latencies.merge(&other.latencies);
        self.total_us += other.total_us;
        self.bytes += other.bytes;
        for (errno, count) in other.errors {
            *self.errors.entry(errno).or_default() += count;
        }
    }
}

const MIB: f64 = (1 << 20) as f64;

/// The measurements of all clients in a phase.
pub fn sum_up(phase: &Phase, parts: Vec<Part>) -> PhaseResult {
    let longest = parts
        .iter()
        .map(|part| part.ended)
        .max()
        .unwrap_or_default();
    let measured_s = match phase.amount {
        Amount::Operations(_) => longest.as_secs_f64(),
        Amount::Duration { measured_ns, .. } => measured_ns as f64 / 1e9,
    };
    let left = phase
        .arrivals
        .map(|_| parts.iter().map(|part| part.left).sum());
    let mut operations: BTreeMap<OperationKind, Tally> = BTreeMap::new();
    for (kind, tally) in parts.into_iter().flat_map(|part| part.tallies) {
        operations.entry(kind).or_default().merge(tally);
    }
    let results = operations.into_iter().map(|(kind, tally)| {
        let name: &str = (&kind).into();
        let count = tally.latencies.count();
        let result = OperationResult {
            count,
            errors: tally.errors,
            per_s: count as f64 / measured_s,
            mib_per_s: tally.bytes as f64 / MIB / measured_s,
            latency_us: LatencySummary {
                p50: tally.latencies.quantile_us(0.5),
                p99: tally.latencies.quantile_us(0.99),
                mean: tally.total_us / count.max(1) as f64,
            },
        };
        (name.to_owned(), result)
    });
    PhaseResult {
        name: phase.name.clone(),
        measured_s,
        operations: results.collect(),
        transactions: TransactionResult::default(),
        sources: None,
        left,
        resources: BTreeMap::new(),
        bound: Bound::default(),
    }
}
