//! Searches in the simulated world.

use crate::setups::ppmds;
use futago_twin::world::{
    Activity, Amount, Latency, OperationKind, Phase, Place, RunOptions, Setup, Store, run,
};

fn phase(kind: OperationKind, place: Place, operations: u64) -> Phase {
    Phase {
        name: "phase".into(),
        place,
        activity: Activity::Names(vec![(kind, 1)].into()),
        amount: Amount::Operations(operations),
        think: Latency::ZERO,
        arrivals: None,
    }
}

/// Clients that make so many files each and then search a place.
fn setup(servers: u32, clients: u32, place: Place, files: u64) -> Setup {
    let mut setup = ppmds(servers, clients, 1_000, 1);
    setup.store = Store::default();
    setup.costs.server.input_ns = 1_000.0;
    setup.costs.server.record_scanned_ns = 5_000.0;
    setup.phases = vec![
        phase(OperationKind::Create, place, files),
        phase(OperationKind::Find, place, 4),
    ];
    setup
}

/// How many searches end in a second.
fn searches_per_s(setup: &Setup) -> f64 {
    let measured = run(setup, &RunOptions::default()).expect("it runs");
    let mut found = measured.phases.into_iter().nth(1).expect("two phases");
    let find = found.operations.remove(&OperationKind::Find);
    find.expect("clients search").per_s
}

#[test]
fn more_servers_search_more_trees_in_the_same_time() {
    let own = |servers| searches_per_s(&setup(servers, 4 * servers, Place::Own, 60));
    let (few, many) = (own(4), own(16));
    assert!(many > 2.8 * few, "{few} {many}");
}

#[test]
fn all_servers_of_a_wide_directory_search_side_by_side() {
    let shared = |servers| searches_per_s(&setup(servers, 1, Place::Shared(0), 800));
    let (one, eight) = (shared(1), shared(8));
    assert!(eight > 2.0 * one, "{one} {eight}");
}
