//! How long a fixed piece of computation takes the cores of this host.
//!
//! A core of a virtual machine is often one of two threads that a core of its host runs, and the
//! other one belongs to another tenant: while that one works, each has about half of the core. The
//! system tells of no time that was stolen then, and yet all takes up to 1.8 times as long. A
//! computation that keeps the units of a core busy shows it at once.

use futago_node::cores;
use std::{hint::black_box, sync::Barrier, thread, time::Instant};

/// How many sums are made side by side: enough that a core always has something to do for each of
/// its units.
const SUMS: usize = 8;
/// How often each is added to in a batch, and how many batches there are: a third of a millisecond
/// in all.
const ROUNDS: u64 = 4_000;
const BATCHES: usize = 16;

/// How long a batch takes the slowest core while all of them compute, in nanoseconds: the lower
/// quartile of all its batches, as others of this system may have had the core meanwhile.
pub fn computation_ns() -> f64 {
    let cores = cores::allowed();
    let all_ready = Barrier::new(cores.len());
    thread::scope(|scope| {
        let computing = cores.iter().map(|&core| {
            let all_ready = &all_ready;
            scope.spawn(move || {
                cores::bind(core);
                all_ready.wait();
                lower_quartile_ns()
            })
        });
        let computing: Vec<_> = computing.collect();
        let ended = computing.into_iter().flat_map(|core| core.join());
        ended.fold(0.0, f64::max)
    })
}

fn lower_quartile_ns() -> f64 {
    let mut batches_ns = [(); BATCHES].map(|()| batch_ns());
    batches_ns.sort_by(f64::total_cmp);
    batches_ns[BATCHES / 4]
}

/// Adds numbers that the compiler knows nothing of, so that it adds them one by one.
fn batch_ns() -> f64 {
    let began = Instant::now();
    let mut sums = [0_u64; SUMS];
    for round in 0..ROUNDS {
        for (number, sum) in (0..).zip(&mut sums) {
            *sum = sum.wrapping_add(black_box(round) ^ number);
        }
    }
    black_box(sums);
    began.elapsed().as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_takes_some_time() {
        assert!(computation_ns() > 0.0);
    }
}
