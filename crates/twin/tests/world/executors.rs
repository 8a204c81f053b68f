//! A world is the same under every executor.

use crate::setups::{
    broadcast, epochs, exchange_on_disks, faulty, faulty_broadcast, faulty_exchange, looking,
    mixed, recorded, run_by, with_disks,
};
use futago_des::{Executor, ranks::in_process};
use futago_store::Sync;
use futago_twin::world::{Measured, RunOptions, Setup, run_on};
use std::thread;

/// The results of all ranks.
fn run_on_ranks(setup: &Setup, options: &RunOptions, ranks: u32) -> Vec<Measured> {
    thread::scope(|scope| {
        let ranks = in_process(ranks).into_iter();
        let ranks = ranks.map(|mut rank| {
            scope.spawn(move || run_on(setup, options, &mut rank).expect("it runs"))
        });
        let ranks: Vec<_> = ranks.collect();
        let joined = ranks.into_iter().map(|rank| rank.join());
        joined.map(|measured| measured.expect("no panic")).collect()
    })
}

/// Compares with the sequential executor for some numbers of ranks and of threads on each.
#[track_caller]
fn assert_same_for_all(setup: &Setup, splits: &[(u32, u32)]) {
    let reference = run_by(setup, Executor::Sequential, 1);
    let phases = format!("{:?}", reference.phases);
    for executor in [Executor::Conservative, Executor::Optimistic] {
        for &(ranks, threads) in splits {
            let options = RunOptions {
                executor,
                threads,
                watch: None,
            };
            let case = format!(
                "{executor:?}, {ranks} ranks, {threads} threads, seed {}",
                setup.seed
            );
            for measured in run_on_ranks(setup, &options, ranks) {
                assert_eq!(measured.engine.digest, reference.engine.digest, "{case}");
                assert_eq!(format!("{:?}", measured.phases), phases, "{case}");
            }
        }
    }
}

#[test]
fn executors_and_threads_make_no_difference() {
    for (seed, threads) in seeds() {
        assert_same_for_all(&mixed(3, 5, seed), &[(1, threads)]);
    }
}

#[test]
fn they_make_no_difference_to_faults() {
    for (seed, threads) in seeds().skip(1).take(2) {
        assert_same_for_all(&faulty(2, 3, seed), &[(1, threads)]);
    }
}

#[test]
fn they_make_no_difference_to_processes_that_look_for_messages() {
    for setup in [mixed(3, 5, 1), faulty(2, 3, 2)] {
        assert_same_for_all(&looking(setup), &[(1, 1), (1, 4), (2, 2)]);
    }
}

#[test]
fn they_make_no_difference_to_processes_that_are_bound_to_cores() {
    let mut setup = looking(mixed(2, 3, 1));
    setup.bind_to_core = true;
    assert_same_for_all(&setup, &[(1, 4), (2, 2)]);
}

#[test]
fn they_make_no_difference_to_disks() {
    for (setup, sync) in [
        (mixed(3, 5, 1), Sync::Always),
        (faulty(2, 3, 2), Sync::Process),
        (looking(faulty(2, 3, 3)), Sync::Process),
    ] {
        assert_same_for_all(&with_disks(setup, sync), &[(1, 1), (1, 4), (2, 2)]);
    }
}

#[test]
fn they_make_no_difference_to_traces() {
    for seed in 1..=3 {
        let mut setup = mixed(3, 4, seed);
        setup.phases = vec![recorded(), recorded()];
        assert_same_for_all(&setup, &[(1, 1), (1, 4), (2, 1), (4, 2)]);
    }
}

#[test]
fn they_make_no_difference_to_clients_that_share_caches() {
    for is_cooperative in [true, false] {
        let setup = broadcast(2, 5, 6, is_cooperative);
        assert_same_for_all(&setup, &[(1, 1), (1, 4), (2, 1), (2, 2)]);
    }
    for setup in [
        faulty_broadcast(2, 5, 6, 1),
        looking(broadcast(2, 5, 4, true)),
        faulty_exchange(2, 5, 4, 1),
        epochs(2, 4, 16),
        exchange_on_disks(3, 4, 6, true),
        exchange_on_disks(3, 4, 6, false),
    ] {
        assert_same_for_all(&setup, &[(1, 4), (2, 2)]);
    }
}

#[test]
fn ranks_make_no_difference() {
    assert_same_for_all(&mixed(2, 2, 1), &[(2, 1), (4, 1)]);
    assert_same_for_all(&faulty(2, 3, 2), &[(2, 1), (4, 1)]);
}

#[test]
#[ignore = "takes minutes; crates/twin/proof.sh executors runs it"]
fn no_combination_makes_a_difference() {
    for (seed, _) in seeds() {
        for setup in [mixed(3, 5, seed), faulty(3, 5, seed)] {
            assert_same_for_all(&setup, &[(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1)]);
        }
    }
}

/// A dozen seeds, and numbers of threads that alternate.
fn seeds() -> impl Iterator<Item = (u64, u32)> {
    (1..=12).zip([4, 2, 1].into_iter().cycle())
}
