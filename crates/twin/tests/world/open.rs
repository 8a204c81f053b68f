//! Operations that arrive by themselves: results of queueing theory, and operations that no client
//! begins.

use crate::predictions::assert_near;
use crate::setups::ppmds;
use futago_twin::world::{
    Amount, ArrivalProcess, Arrivals, MeasuredPhase, OperationKind, ResourceClass, RunOptions,
    Setup, run,
};

const STARTUP_NS: u64 = 32_000;
/// The time of a create by one client: six start-ups, the slowest link twice, and the store.
const SERVICE_US: f64 = 6.0 * 32.0 + 2.0 * 4.096 + 500.0;
const WARM_UP_S: f64 = 0.02;
const MEASURED_S: f64 = 0.5;

/// A phase in which operations arrive that take this share of the clients' time.
fn phase(clients: u32, load: f64, process: ArrivalProcess) -> MeasuredPhase {
    let mut setup = ppmds(1, clients, STARTUP_NS, (MEASURED_S * 1e9) as u64);
    setup.phases[0].arrivals = Some(Arrivals {
        per_s: per_s(clients, load),
        process,
    });
    measure(&setup)
}

fn per_s(clients: u32, load: f64) -> f64 {
    f64::from(clients) * load * 1e6 / SERVICE_US
}

fn measure(setup: &Setup) -> MeasuredPhase {
    let measured = run(setup, &RunOptions::default()).expect("it runs");
    measured
        .phases
        .into_iter()
        .next()
        .expect("there is a phase")
}

#[test]
fn who_comes_in_equal_distances_never_waits() {
    let phase = phase(2, 0.9, ArrivalProcess::Constant);
    let create = &phase.operations[&OperationKind::Create];
    assert_near(create.per_s, per_s(2, 0.9), 0.001);
    assert_near(create.mean_us, SERVICE_US, 0.001);
    let client = phase.resources[&ResourceClass::Client];
    assert_near(client.utilisation, 0.9, 0.001);
    assert!(client.wait_us < 0.01, "{client:?}");
    assert!(phase.left <= 2, "{}", phase.left);
}

/// The formula of Pollaczek and Khinchine for constant service (M/D/1).
#[test]
fn who_comes_at_random_waits_as_long_as_theory_says() {
    let load = 0.7;
    let phase = phase(4, load, ArrivalProcess::Poisson);
    let create = &phase.operations[&OperationKind::Create];
    assert_near(create.per_s, per_s(4, load), 0.05);
    let client = phase.resources[&ResourceClass::Client];
    let wait_us = load * client.service_us / (2.0 * (1.0 - load));
    assert_near(client.wait_us, wait_us, 0.2);
    assert_near(create.mean_us, client.wait_us + client.service_us, 0.01);
}

/// Half of what comes is done; the other half waits, and still does when the phase is over.
#[test]
fn what_cannot_be_done_is_left() {
    let phase = phase(2, 2.0, ArrivalProcess::Constant);
    let create = &phase.operations[&OperationKind::Create];
    assert_near(create.per_s, per_s(2, 1.0), 0.01);
    let grows_per_s = per_s(2, 2.0) - create.per_s;
    let left = grows_per_s * (WARM_UP_S + MEASURED_S);
    assert_near(phase.left as f64, left, 0.01);
    let client = phase.resources[&ResourceClass::Client];
    assert_near(client.utilisation, 1.0, 0.001);
    let queue_mean = grows_per_s * (WARM_UP_S + MEASURED_S / 2.0);
    assert_near(client.queue_mean, queue_mean, 0.01);
    assert!(create.p99_us > 1e6 * MEASURED_S / 3.0, "{create:?}");
}

#[test]
fn so_many_operations_arrive_as_the_phase_has() {
    let mut setup = ppmds(1, 3, STARTUP_NS, 1);
    setup.phases[0].amount = Amount::Operations(100);
    setup.phases[0].arrivals = Some(Arrivals {
        per_s: 30.0,
        process: ArrivalProcess::Constant,
    });
    let phase = measure(&setup);
    assert_eq!(phase.operations[&OperationKind::Create].count, 300);
    assert_near(phase.measured_s, 299.0 / 30.0, 0.001);
    assert_eq!(phase.left, 0);
}
