use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::Phold;

/// PHOLD as the plainest possible loop, the yardstick of a machine. It uses the binary heap of the
/// standard library, 40-byte events and one SplitMix generator. It guarantees nothing: no order of
/// simultaneous events, no streams per process, no digest, no checks.
///
/// Returns the number of events and the seconds. The results are for measurements only.
pub fn bare_loop(model: &Phold, end_s: f64, seed: u64) -> (u64, f64) {
    let mut random = SplitMix(seed);
    let mut handled = vec![0u64; model.processes as usize];
    let mut queue = BinaryHeap::with_capacity((model.processes * model.start_events) as usize + 1);
    for process in 0..u64::from(model.processes) {
        for _ in 0..model.start_events {
            queue.push(next(model, &mut random, 0.0, process));
        }
    }
    let start = Instant::now();
    let mut count = 0;
    while let Some(event) = queue.pop() {
        if event.time >= end_s {
            break;
        }
        count += 1;
        handled[event.destination as usize] += 1;
        queue.push(next(model, &mut random, event.time, event.destination));
    }
    std::hint::black_box(&handled);
    (count, start.elapsed().as_secs_f64())
}

struct BareEvent {
    time: f64,
    destination: u64,
    _source: u64,
    _payload: [u64; 2],
}

#[inline]
fn next(model: &Phold, random: &mut SplitMix, now: f64, source: u64) -> BareEvent {
    let destination = if random.unit() < model.remote {
        ((u128::from(random.bits()) * u128::from(model.processes)) >> 64) as u64
    } else {
        source
    };
    let beyond = -(model.mean_s - model.lookahead_s) * (1.0 - random.unit()).ln();
    BareEvent {
        time: now + model.lookahead_s + beyond,
        destination,
        _source: source,
        _payload: [0; 2],
    }
}

impl Ord for BareEvent {
    /// Reversed: the standard heap is a maximum heap.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time)
    }
}

impl PartialOrd for BareEvent {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for BareEvent {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for BareEvent {}

struct SplitMix(u64);

impl SplitMix {
    #[inline]
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[inline]
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
