//! What a world predicts agrees with what can be computed.

use crate::setups::ppmds;
use futago_twin::world::{Measured, OperationKind, RunOptions, Setup, run};

fn measure(setup: &Setup) -> Measured {
    run(setup, &RunOptions::default()).expect("it runs")
}

fn creates_per_s(measured: &Measured) -> f64 {
    measured.phases[0].operations[&OperationKind::Create].per_s
}

#[test]
fn one_client_takes_a_cycle_of_six_start_ups_and_the_store() {
    let measured = measure(&ppmds(2, 1, 32_000, 100_000_000));
    let create = &measured.phases[0].operations[&OperationKind::Create];
    // Each way: three start-ups, and the transmission at 125 MB/s, which takes longer than at 1250.
    let cycle_us = 6.0 * 32.0 + 2.0 * 4.096 + 500.0;
    assert!((create.mean_us / cycle_us - 1.0).abs() < 0.01, "{create:?}");
    assert!(
        (create.per_s * cycle_us / 1e6 - 1.0).abs() < 0.01,
        "{create:?}"
    );
    assert!(create.errors.is_empty(), "{create:?}");
}

#[test]
fn two_servers_are_bound_by_their_interfaces() {
    let bound_per_s = 2.0 * 1e9 / (32_000.0 + 409.6);
    let measured = measure(&ppmds(2, 88, 32_000, 100_000_000));
    let per_s = creates_per_s(&measured);
    assert!(per_s <= bound_per_s * 1.0001, "{per_s} of {bound_per_s}");
    assert!(per_s >= bound_per_s * 0.98, "{per_s} of {bound_per_s}");
    assert!((59_000.0..63_000.0).contains(&per_s), "{per_s}");
}
