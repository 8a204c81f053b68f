//! Whoever runs a world, it is the same world.

use crate::setups::{faulty, mixed, run_by};
use futago_des::Executor;
use futago_twin::world::Setup;

#[track_caller]
fn assert_same_for_all(setup: &Setup, threads: &[u32]) {
    let reference = run_by(setup, Executor::Sequential, 1);
    let phases = format!("{:?}", reference.phases);
    for executor in [Executor::Conservative, Executor::Optimistic] {
        for &threads in threads {
            let measured = run_by(setup, executor, threads);
            let case = format!("{executor:?} on {threads} threads, seed {}", setup.seed);
            assert_eq!(measured.engine.digest, reference.engine.digest, "{case}");
            assert_eq!(format!("{:?}", measured.phases), phases, "{case}");
        }
    }
}

#[test]
fn executors_and_threads_make_no_difference() {
    for (seed, threads) in seeds() {
        assert_same_for_all(&mixed(3, 5, seed), &[threads]);
    }
}

#[test]
fn they_make_no_difference_to_faults() {
    for (seed, threads) in seeds().skip(1).take(2) {
        assert_same_for_all(&faulty(2, 3, seed), &[threads]);
    }
}

#[test]
#[ignore = "takes minutes; crates/twin/proof.sh executors runs it"]
fn no_combination_makes_a_difference() {
    for (seed, _) in seeds() {
        for setup in [mixed(3, 5, seed), faulty(3, 5, seed)] {
            assert_same_for_all(&setup, &[1, 2, 4]);
        }
    }
}

/// A dozen seeds, and numbers of threads in turn.
fn seeds() -> impl Iterator<Item = (u64, u32)> {
    (1..=12).zip([4, 2, 1].into_iter().cycle())
}
